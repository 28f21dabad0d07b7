//! `flashyard list`: what can be named.

mod ftls;

use crate::args::{ListArgs, Listing};
use crate::error::wrong;
use crate::inputs::AllSections;
use crate::output::{print, table};
use crate::presets::{DEFAULT_DEVICE, DEVICES};
use anyhow::Result;
use flashyard_core::bus::policy::BusPolicyKeys;
use flashyard_core::host::HostPolicyKeys;
use flashyard_core::key::{Key, Kind};
use flashyard_core::policy::PolicyKeys;
use flashyard_sim::config::{Sections, show_value};
use flashyard_sim::ftl::victim::VictimKeys;
use flashyard_sim::own::{Family, OwnParts};
use flashyard_workload::{
    BUILT_IN, BUILT_IN_FILES, BUILT_IN_MIXES, BUILT_IN_PATTERNS, BUILT_IN_RAW, FormatInfo,
};

/// A part as the registries list it: name, keys, what it is.
type Part = (&'static str, &'static [Key], &'static str);

/// Runs `flashyard list`.
pub(crate) fn run(args: &ListArgs, own: OwnParts) -> Result<()> {
    if args.what == Some(Listing::Ftls) {
        return print(&ftls::list(args, own)?);
    }
    if args.device.is_some() || !args.set.is_empty() {
        return Err(wrong("list: only ftls takes a device and --set; name ftls"));
    }
    let all = [Listing::Devices, Listing::Policies, Listing::Workloads, Listing::Formats];
    let wanted = args.what.map_or_else(|| all.to_vec(), |one| vec![one]);
    let texts: Vec<String> = wanted.into_iter().map(|what| list(what, own)).collect();
    print(&texts.join("\n"))
}

fn list(what: Listing, own: OwnParts) -> String {
    match what {
        Listing::Devices => devices(),
        Listing::Policies => policies(own),
        Listing::Workloads => lines(
            "workloads",
            BUILT_IN
                .iter()
                .map(|built_in| (built_in.name, built_in.title))
                .chain(BUILT_IN_PATTERNS.iter().map(|built_in| (built_in.name, built_in.title)))
                .chain(BUILT_IN_MIXES.iter().map(|built_in| (built_in.name, built_in.title)))
                .chain(BUILT_IN_FILES.iter().map(|built_in| (built_in.name, built_in.title)))
                .chain(BUILT_IN_RAW.iter().map(|built_in| (built_in.name, built_in.title)))
                .map(|(name, title)| (name.to_string(), title)),
        ),
        Listing::Formats => {
            let formats = FormatInfo::all().map(|format| (format.name.to_string(), format.doc));
            lines("formats", formats)
        }
        Listing::Keys => keys(&AllSections::new(own)),
        Listing::Ftls => unreachable!("they are listed for a device"),
    }
}

fn lines<'a>(title: &str, rows: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut table = table::table(&[title, ""]);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for (name, doc) in rows {
        table.add_row(vec![name, first_sentence(doc)]);
    }
    table::trimmed(&table)
}

fn first_sentence(doc: &str) -> String {
    let doc = doc.trim();
    doc.split_once(". ").map_or(doc, |(first, _)| first).trim_end_matches('.').to_string()
}

fn devices() -> String {
    let title = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("title = "));
        line.unwrap_or("").trim_matches('"').to_string()
    };
    let rows = DEVICES.iter().map(|(name, text)| {
        let default = if *name == DEFAULT_DEVICE { " (default)" } else { "" };
        ((*name).to_string(), format!("{}{default}", title(text)))
    });
    let rows: Vec<(String, String)> = rows.collect();
    lines("devices", rows.iter().map(|(name, title)| (name.clone(), title.as_str())))
}

/// Built-in policies and rules, and behind them the user's own.
fn policies(own: OwnParts) -> String {
    let rows = |built_in: &[Part], family: Family| -> Vec<(String, &'static str)> {
        let built_in = built_in.iter().map(|(name, _, doc)| ((*name).to_string(), *doc));
        let own = own.names(family);
        built_in.chain(own.map(|(name, doc)| (name.to_string(), doc))).collect()
    };
    let commands = rows(PolicyKeys::PARTS, Family::CommandPolicy);
    let hosts = rows(HostPolicyKeys::PARTS, Family::HostPolicy);
    let buses = rows(BusPolicyKeys::PARTS, Family::BusPolicy);
    let victims = rows(VictimKeys::PARTS, Family::VictimRule);
    lines("command policies (policy.command)", commands.into_iter())
        + "\n"
        + &lines("host policies (host.policy)", hosts.into_iter())
        + "\n"
        + &lines("bus policies (channel.arbitration)", buses.into_iter())
        + "\n"
        + &lines("garbage collection policies (gc.policy)", victims.into_iter())
}

/// Every key: section by section, with unit, range, default, meaning and source.
fn keys(sections: &dyn Sections) -> String {
    let mut text = String::new();
    for (section, keys, doc) in sections.sections() {
        if keys.is_empty() {
            continue;
        }
        text += &format!("[{section}]  {}\n", doc.trim());
        for key in keys {
            let value = sections.get(&section, key.name).expect("a listed key has a value");
            text += &format!(
                "  {} = {}  ({})\n      {}\n      source: {}\n",
                key.name,
                show_value(&key.kind, value),
                range(key),
                key.doc.trim(),
                key.source
            );
        }
        text.push('\n');
    }
    text
}

fn range(key: &Key) -> String {
    match key.kind {
        Kind::Bool => "true or false".to_string(),
        Kind::Choice(words) => words.join(" | "),
        Kind::Number { unit, min, max, .. } => {
            let show = |value| show_value(&key.kind, flashyard_core::key::Value::Number(value));
            format!("{unit}, {} to {}", show(min), show(max))
        }
    }
}
