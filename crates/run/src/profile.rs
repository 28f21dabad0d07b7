//! The fitted tables of a workload file.

use crate::error::read_text;
use flashyard_sim::config::{Problem, line_of_item};
use flashyard_workload::profile::Profile;
use serde::Deserialize;

/// What is read of a workload file here; the keys beside the tables are read elsewhere.
#[derive(Deserialize)]
struct File {
    profile: Section,
}

#[derive(Deserialize)]
struct Section {
    fitted: Profile,
}

/// The tables of another file.
pub fn read(file: &str, problems: &mut Vec<Problem>) -> Profile {
    match read_text(file) {
        Ok(text) => parse(file, &text, problems),
        Err(error) => {
            problems.push(Problem { place: String::new(), what: error.to_string() });
            Profile::default()
        }
    }
}

/// The tables in the text of a file. What is wrong is reported, and nothing found.
pub fn parse(file: &str, text: &str, problems: &mut Vec<Problem>) -> Profile {
    let found = toml::from_str::<File>(text).map_err(|error| {
        let line = line_of_item(text, error.span());
        let what = format!("profile.fitted: {}; fit the trace again", error.message());
        (format!("{file}:{line}"), what)
    });
    let found = found.and_then(|found| {
        let checked = found.profile.fitted.check();
        checked.map_err(|what| (file.to_string(), format!("profile.fitted: {what}")))?;
        Ok(found.profile.fitted)
    });
    found.unwrap_or_else(|(place, what)| {
        problems.push(Problem { place, what });
        Profile::default()
    })
}
