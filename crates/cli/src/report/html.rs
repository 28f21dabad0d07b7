//! The page as HTML, by its template.

use anyhow::{Context, Result};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;
use serde_json::Value;

const TEMPLATE: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
const MAP_STYLE: &str = include_str!("../../assets/block-map.css");
const MAP_SCRIPT: &str = include_str!("../../assets/block-map.js");
const SCRIPT: &str = include_str!("../../assets/report.js");
const D3: &str = include_str!("../../assets/d3.min.js");
const PLOT: &str = include_str!("../../assets/plot.umd.min.js");

/// The page as HTML, with the data of its script.
pub(super) fn of(page: &impl Serialize, data: &Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report", TEMPLATE).context("the template of the report")?;
    let template = environment.get_template("report").context("the template of the report")?;
    let html = template.render(context! {
        page => page,
        map => data.get("map").is_some(), map_style => MAP_STYLE, map_script => MAP_SCRIPT,
        data => inside_script(&data.to_string()),
        style => STYLE, script => SCRIPT, d3 => D3, plot => PLOT,
    });
    html.context("the report as HTML")
}

/// JSON that ends no script and opens no comment: the same text to whoever parses it.
fn inside_script(json: &str) -> String {
    json.replace("</", "<\\/").replace("<!--", "<\\u0021--")
}

#[cfg(test)]
mod tests {
    use super::super::{Page, Section};
    use super::*;
    use flashyard_run::hash::hex;
    use serde_json::json;
    use sha2::{Digest, Sha256};

    #[test]
    fn text_is_escaped_and_data_ends_no_script() {
        let mut page = Page::new("a <b> & \"c\"".to_string());
        page.verdict.push("x < y".to_string());
        let results = json!({"name": "</script><!-- <script>"});
        let html = of(&page, &page.data("run", &results)).unwrap();
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
        let html = of(&page, &page.data("run", &Value::Null)).unwrap();
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
