//! `flashyard list`: what can be named.

mod ftls;
mod keys;

use crate::args::{ListArgs, Listing};
use crate::output::text::{columns, first_sentence};
use crate::output::{print, print_json};
use anyhow::Result;
use flashyard_core::bus::policy::BusPolicyKeys;
use flashyard_core::host::HostPolicyKeys;
use flashyard_core::key::Key;
use flashyard_core::policy::PolicyKeys;
use flashyard_run::error::wrong;
use flashyard_run::plan::AllSections;
use flashyard_run::presets::{DEFAULT_DEVICE, DEVICES, built_in};
use flashyard_sim::own::{Family, OwnParts};
use flashyard_sim::parts::victim::VictimKeys;
use flashyard_workload::FormatInfo;
use serde_json::{Map, Value, json};

/// A part as the registries list it: its name, its keys and its description.
type Part = (&'static str, &'static [Key], &'static str);

/// Names under a title, each with its description.
struct List {
    /// The field of `--json`.
    field: &'static str,
    title: &'static str,
    rows: Vec<(String, String)>,
}

/// The lists that are printed if the command line names none.
const MOST: [Listing; 4] =
    [Listing::Devices, Listing::Policies, Listing::Workloads, Listing::Formats];

/// Runs `flashyard list`.
pub(crate) fn run(args: &ListArgs, own: &OwnParts) -> Result<()> {
    let word = args.of.as_deref();
    if args.what != Some(Listing::Ftls)
        && (!args.set.is_empty() || word.is_some() && args.what != Some(Listing::Keys))
    {
        let what = "list: only ftls takes a device and --set, and only keys a word; name one";
        return Err(wrong(what));
    }
    let sections = AllSections::new(own.clone());
    match args.what {
        Some(Listing::Ftls) if args.json => print_json(&ftls::json(args, own)?),
        Some(Listing::Ftls) => print(&ftls::list(args, own)?),
        Some(Listing::Keys) if args.json => {
            print_json(&json!({"keys": keys::json(&sections, word)?}))
        }
        Some(Listing::Keys) => print(&keys::list(&sections, word)?),
        what => {
            let wanted = what.map_or_else(|| MOST.to_vec(), |one| vec![one]);
            let all: Vec<List> = wanted.into_iter().flat_map(|what| lists(what, own)).collect();
            if args.json {
                return print_json(&Value::Object(all.iter().map(as_json).collect::<Map<_, _>>()));
            }
            let texts: Vec<String> =
                all.iter().map(|list| columns(list.title, &list.rows)).collect();
            print(&texts.join("\n"))
        }
    }
}

fn as_json(list: &List) -> (String, Value) {
    let row = |(name, what): &(String, String)| json!({"name": name, "what": what});
    (list.field.to_string(), list.rows.iter().map(row).collect())
}

fn lists(what: Listing, own: &OwnParts) -> Vec<List> {
    let rows = |all: &mut dyn Iterator<Item = (String, &'static str)>| -> Vec<(String, String)> {
        all.map(|(name, doc)| (name, first_sentence(doc))).collect()
    };
    match what {
        Listing::Devices => vec![List { field: "devices", title: "devices", rows: devices() }],
        Listing::Policies => policies(own),
        Listing::Workloads => {
            let mut all = built_in().map(|(_, name, title)| (name.to_string(), title));
            vec![List { field: "workloads", title: "workloads", rows: rows(&mut all) }]
        }
        Listing::Formats => {
            let mut all = FormatInfo::all().map(|format| (format.name.to_string(), format.doc));
            vec![List { field: "formats", title: "formats", rows: rows(&mut all) }]
        }
        Listing::Keys | Listing::Ftls => unreachable!("they have lists of their own"),
    }
}

fn devices() -> Vec<(String, String)> {
    let title = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("title = "));
        line.unwrap_or("").trim_matches('"').to_string()
    };
    let row = |(name, text): &(&str, &str)| {
        let default = if *name == DEFAULT_DEVICE { " (default)" } else { "" };
        ((*name).to_string(), format!("{}{default}", title(text)))
    };
    DEVICES.iter().map(row).collect()
}

/// Built-in policies and rules, and behind them the user's own.
fn policies(own: &OwnParts) -> Vec<List> {
    let list = |field, title, built_in: &[Part], family: Family| {
        let built_in = built_in.iter().map(|(name, _, doc)| (*name, *doc));
        let all = built_in.chain(own.names(family));
        let rows = all.map(|(name, doc)| (name.to_string(), first_sentence(doc))).collect();
        List { field, title, rows }
    };
    vec![
        list(
            "command_policies",
            "command policies (policy.command)",
            PolicyKeys::PARTS,
            Family::CommandPolicy,
        ),
        list(
            "host_policies",
            "host policies (host.policy)",
            HostPolicyKeys::PARTS,
            Family::HostPolicy,
        ),
        list(
            "bus_policies",
            "bus policies (channel.arbitration)",
            BusPolicyKeys::PARTS,
            Family::BusPolicy,
        ),
        list(
            "victim_rules",
            "garbage collection policies (gc.policy)",
            VictimKeys::PARTS,
            Family::VictimRule,
        ),
    ]
}
