//! `report.html`: the results of a command as one page that opens without a network. The text and
//! the tables are in the page itself; plots are data, which the script in the page draws.

pub(crate) mod block_map;
pub(crate) mod plot;
pub(crate) mod points;
pub(crate) mod run;
pub(crate) mod series;
pub(crate) mod words;

use crate::output::WholeFile;
use crate::output::unfinished::Folder;
use anyhow::{Context, Result};
use block_map::BlockMap;
use minijinja::{AutoEscape, Environment, context};
use plot::Plot;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// The name of the file.
const NAME: &str = "report.html";

const TEMPLATE: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
const MAP_STYLE: &str = include_str!("../../assets/block-map.css");
const MAP_SCRIPT: &str = include_str!("../../assets/block-map.js");
const SCRIPT: &str = include_str!("../../assets/report.js");
const D3: &str = include_str!("../../assets/d3.min.js");
const PLOT: &str = include_str!("../../assets/plot.umd.min.js");

/// A page, before it is HTML.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// What it is about, a paragraph each.
    pub(crate) lead: Vec<String>,
    /// What a reader must know before trusting the rest, a paragraph each.
    pub(crate) verdict: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// The steps of the block map, where there is one.
    pub(crate) map: Option<BlockMap>,
    pub(crate) sections: Vec<Section>,
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

    /// The page as HTML. `results` is what `--json` prints; it stands in the data beside the plots.
    pub(crate) fn html(&self, kind: &str, results: &Value) -> Result<String> {
        let plots: Vec<&Plot> = self.sections.iter().flat_map(|section| &section.plots).collect();
        let absent: Vec<_> = self.absent.iter().map(|one| one.title).collect();
        let mut data = json!({"kind": kind, "plots": plots, "absent": absent, "results": results});
        if let Some(map) = &self.map {
            data["map"] = json!(map);
        }
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_template("report", TEMPLATE).context("the template of the report")?;
        let template = environment.get_template("report").context("the template of the report")?;
        let html = template.render(context! {
            page => self,
            map => self.map.is_some(), map_style => MAP_STYLE, map_script => MAP_SCRIPT,
            data => inside_script(&data.to_string()),
            style => STYLE, script => SCRIPT, d3 => D3, plot => PLOT,
        });
        html.context("the report as HTML")
    }

    /// The page as a file in `folder` that has yet to get its name.
    pub(crate) fn write(&self, folder: &Path, kind: &str, results: &Value) -> Result<WholeFile> {
        let path = folder.join(NAME);
        let mut file = WholeFile::create(&path)?;
        let html = self.html(kind, results)?;
        file.write_all(html.as_bytes()).with_context(|| format!("{}", path.display()))?;
        Ok(file)
    }

    /// The page as the only file in a folder, which is made where it is missing.
    pub(crate) fn write_alone(&self, path: &Path, kind: &str, results: &Value) -> Result<()> {
        let folder = Folder::create(path).with_context(|| format!("{}", path.display()))?;
        self.write(path, kind, results)?.finish()?;
        folder.keep();
        Ok(())
    }
}

/// JSON that ends no script and opens no comment: the same text to whoever parses it.
fn inside_script(json: &str) -> String {
    json.replace("</", "<\\/").replace("<!--", "<\\u0021--")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_run::hash::hex;
    use sha2::{Digest, Sha256};

    #[test]
    fn text_is_escaped_and_data_ends_no_script() {
        let mut page = Page::new("a <b> & \"c\"".to_string());
        page.verdict.push("x < y".to_string());
        let results = json!({"name": "</script><!-- <script>"});
        let html = page.html("run", &results).unwrap();
        assert!(html.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
        assert!(html.contains("<p>x &lt; y</p>"));
        let from = html.split_once("id=\"data\">").unwrap().1;
        let data: Value = serde_json::from_str(from.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["results"], results);
        assert_eq!(html.matches("</script>").count(), 4);
    }

    /// What is in the page is what the file beside it says.
    #[test]
    fn libraries_are_those_of_the_list() {
        let list = include_str!("../../assets/README.md");
        for (name, text) in [("d3.min.js", D3), ("plot.umd.min.js", PLOT)] {
            let row = list.lines().find(|line| line.starts_with(&format!("| `{name}`")));
            let sum = hex(&Sha256::digest(text));
            assert!(row.is_some_and(|row| row.contains(&sum)), "{name}: {sum}");
        }
    }

    #[test]
    fn the_page_loads_nothing() {
        let mut page = Page::new("title".to_string());
        page.push(Section::default());
        assert!(page.sections.is_empty(), "nothing is in it");
        let html = page.html("run", &Value::Null).unwrap();
        for what in ["src=", "<link", "@import", "url(", "<img", "<iframe", "fetch("] {
            let own = [TEMPLATE, STYLE, SCRIPT, MAP_STYLE, MAP_SCRIPT]
                .iter()
                .any(|text| text.contains(what));
            assert!(!own, "{what}");
        }
        // Addresses are the names of XML's own dialects, and where the libraries come from.
        for (place, _) in html.match_indices("http") {
            let text = &html[place..place + 20];
            let known = ["http://www.w3.org/", "https://d3js.org"];
            let is_address = text.starts_with("http://") || text.starts_with("https://");
            assert!(!is_address || known.iter().any(|one| text.starts_with(one)), "{text}");
        }
        assert!(html.len() < 600_000, "{}", html.len());
    }
}
