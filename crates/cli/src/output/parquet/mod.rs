//! Parquet files: rows that are written as they come, and what a file says about itself.
//!
//! Every file has the version of the program, the unit of each column and what it is in its
//! metadata; files of a run have all settings, the seed and the hash of the requests as well.
//! Columns and cells are those of CSV files, too; a build without the feature `parquet` has these
//! alone.

#[cfg_attr(not(feature = "parquet"), path = "absent.rs")]
mod table;

use flashyard_run::contract;
use flashyard_run::plan::Plan;
pub(crate) use flashyard_run::table::{Cell, Field, Kind, Note};
use serde_json::Value;
use std::path::Path;
pub(crate) use table::Table;

/// Whether a file of this name is a Parquet file.
pub(crate) fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

/// The metadata that say which run the files come from.
pub(crate) fn notes(inputs: &Plan, provenance: &contract::Provenance) -> Vec<Note> {
    vec![
        ("flashyard.settings", all_settings(inputs)),
        ("flashyard.seed", provenance.seed.map_or_else(String::new, |seed| seed.to_string())),
        ("flashyard.workload_sha256", provenance.workload_sha256.clone()),
    ]
}

/// All settings of a run, idle sections left out.
pub(crate) fn all_settings(inputs: &Plan) -> String {
    let keys = &inputs.sections.device;
    let device = contract::settings(keys, |section| keys.has_section(section));
    // The macro of JSON objects would copy both.
    let both = [("device", device), ("workload", contract::plan(inputs))];
    Value::Object(both.map(|(name, value)| (name.to_string(), value)).into_iter().collect())
        .to_string()
}
