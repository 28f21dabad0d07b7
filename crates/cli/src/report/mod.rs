//! `report.html`: the results of a command as one page that opens without a network. The text and
//! the tables are in the page itself; plots are data, which the script in the page draws.

pub(crate) mod block_map;
#[cfg_attr(not(feature = "report"), path = "absent.rs")]
mod html;
pub(crate) mod plot;
pub(crate) mod points;
pub(crate) mod run;
pub(crate) mod series;
pub(crate) mod words;

use crate::features::REPORT;
use crate::output::unfinished::Folder;
use crate::output::{WholeFile, note};
use anyhow::{Context, Result};
use block_map::BlockMap;
use plot::Plot;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// The name of the file.
const NAME: &str = "report.html";

/// A page, before it is HTML.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// What it is about, a paragraph each.
    pub(crate) lead: Vec<String>,
    /// What a reader must know before trusting the rest, a paragraph each.
    pub(crate) verdict: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// The steps of the block map, if there is one.
    pub(crate) map: Option<BlockMap>,
    pub(crate) sections: Vec<Section>,
    /// Whether the plots of a section stand before its tables.
    pub(crate) plots_first: bool,
    /// Plots for which there is no data, with the reason.
    pub(crate) absent: Vec<Absent>,
    /// The command line.
    pub(crate) command: String,
    pub(crate) foot: Vec<String>,
    version: &'static str,
}

/// A part of the page under a heading.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) plots: Vec<Plot>,
}

/// A table of texts; the first cell of a row is its name.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: String,
}

/// A statement of a publication with its verdict.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Statement {
    pub(crate) verdict: String,
    /// The class of its colour: yes, no, part, open.
    pub(crate) class: &'static str,
    pub(crate) text: String,
    pub(crate) found: String,
    pub(crate) parts: Vec<String>,
}

/// A plot that is not drawn.
#[derive(Debug, Serialize)]
pub(crate) struct Absent {
    pub(crate) title: &'static str,
    pub(crate) why: String,
}

impl Page {
    /// A page with a title.
    pub(crate) fn new(title: String) -> Self {
        Self { title, version: env!("CARGO_PKG_VERSION"), ..Self::default() }
    }

    /// Adds a plot to a section, or says why there is none.
    pub(crate) fn add(
        &mut self,
        section: &mut Section,
        title: &'static str,
        plot: std::result::Result<Plot, String>,
    ) {
        match plot {
            Ok(plot) => section.plots.push(plot),
            Err(why) => self.absent.push(Absent { title, why }),
        }
    }

    /// Adds a section, if anything is in it.
    pub(crate) fn push(&mut self, section: Section) {
        let Section { text, tables, statements, plots, .. } = &section;
        if [text.len(), tables.len(), statements.len(), plots.len()].iter().any(|count| *count > 0)
        {
            self.sections.push(section);
        }
    }

    /// The data of the page's script.
    fn data(&self, kind: &str, results: &Value) -> Value {
        let plots: Vec<&Plot> = self.sections.iter().flat_map(|section| &section.plots).collect();
        let absent: Vec<_> = self.absent.iter().map(|one| one.title).collect();
        let mut data = json!({"kind": kind, "plots": plots, "absent": absent, "results": results});
        if let Some(map) = &self.map {
            data["map"] = json!(map);
        }
        data
    }

    /// The page as a file in `folder` that has yet to get its name. `results` is what `--json`
    /// prints; it stands in the data beside the plots. A build that makes no page says so.
    pub(crate) fn write(
        &self,
        folder: &Path,
        kind: &str,
        results: &Value,
    ) -> Result<Option<WholeFile>> {
        let path = folder.join(NAME);
        if !REPORT.here {
            note(format_args!("{}: not written; {}", path.display(), REPORT.missing()));
            return Ok(None);
        }
        let html = html::of(self, &self.data(kind, results))?;
        WholeFile::of(&path, &html).map(Some)
    }

    /// Writes the page as the only file into a folder, which is made if it is missing.
    pub(crate) fn write_alone(&self, path: &Path, kind: &str, results: &Value) -> Result<()> {
        let folder = Folder::create(path).with_context(|| format!("{}", path.display()))?;
        if let Some(file) = self.write(path, kind, results)? {
            file.finish()?;
            folder.keep();
        }
        Ok(())
    }
}
