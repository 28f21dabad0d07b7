//! A figure by its name: of all streams together (`read.p99_us`), or of one of them
//! (`stream.NAME.read.p99_us`).

use crate::headline::{self, Headline};
use flashyard_sim::config::nearest;

/// What the name of a figure of one stream begins with.
const OF_STREAM: &str = "stream.";

/// A figure of all streams together, or of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    stream: Option<String>,
    /// The place of its headline: of a stream, among those that streams have.
    place: usize,
}

impl Figure {
    /// Every figure of all streams together, in the order of columns.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..headline::ALL.len()).map(|place| Self { stream: None, place })
    }

    /// Every figure of a stream, in the order of columns.
    pub fn all_of(stream: &str) -> impl Iterator<Item = Self> {
        let places = 0..headline::of_streams().count();
        places.map(|place| Self { stream: Some(stream.to_string()), place })
    }

    /// The figure of the headline of this name, if there is one: of a stream, or of all.
    pub fn of(stream: Option<&str>, headline: &str) -> Option<Self> {
        let place = match stream {
            None => headline::place(headline),
            Some(_) => headline::of_streams().position(|one| one.name == headline),
        };
        Some(Self { stream: stream.map(str::to_string), place: place? })
    }

    /// The figure that a column of this name has. Whether a run has its stream is not known here.
    ///
    /// Errors: the name is that of no figure. The text has the nearest one.
    pub fn parse(name: &str) -> Result<Self, String> {
        let known = match name.strip_prefix(OF_STREAM) {
            None => Self::of(None, name),
            // The name of a stream may have dots. No headline ends like another one behind a dot.
            Some(rest) => headline::of_streams().find_map(|one| {
                let stream = rest.strip_suffix(&*one.name)?.strip_suffix('.')?;
                Self::of(Some(stream), &one.name).filter(|_| !stream.is_empty())
            }),
        };
        known.ok_or_else(|| unknown(name))
    }

    /// What columns call it.
    pub fn name(&self) -> String {
        named(self.stream(), &self.headline().name)
    }

    /// The name of its stream, if it is not of all.
    pub fn stream(&self) -> Option<&str> {
        self.stream.as_deref()
    }

    /// Its unit, its meaning, and how it is shown.
    pub fn headline(&self) -> &'static Headline {
        match self.stream {
            None => &headline::ALL[self.place],
            Some(_) => headline::of_streams().nth(self.place).expect("a headline is there"),
        }
    }

    /// The place of its headline among all, or, of a stream, among those that streams have.
    pub const fn place(&self) -> usize {
        self.place
    }

    /// How many requests it is of, if it is of a class of them.
    pub fn count(&self) -> Option<Self> {
        let (class, _) = self.headline().name.split_once('.')?;
        Self::of(self.stream(), &format!("{class}.count"))
    }
}

fn named(stream: Option<&str>, headline: &str) -> String {
    let of = stream.map_or_else(String::new, |stream| format!("{OF_STREAM}{stream}."));
    of + headline
}

/// Why a name is that of no figure.
fn unknown(name: &str) -> String {
    let Some(rest) = name.strip_prefix(OF_STREAM) else {
        let near = nearest(name, headline::ALL.iter().map(|one| one.name.as_str()));
        return format!("{name} is no figure{near}; docs/SWEEPS.md lists them");
    };
    // A headline has one part or two, so the stream ends before one of the last two dots.
    let ends = rest.rmatch_indices('.').take(2).filter(|(end, _)| *end > 0);
    let streams = ends.map(|(end, _)| &rest[..end]);
    let of = |stream| headline::of_streams().map(move |one| named(Some(stream), &one.name));
    let all: Vec<String> = streams.flat_map(of).collect();
    let is_of_all = headline::ALL.iter().any(|one| rest.ends_with(&format!(".{}", one.name)));
    let near = nearest(name, all.iter().map(String::as_str));
    let near = if is_of_all { String::new() } else { near };
    format!("{name} is no figure of a stream (stream.NAME.FIGURE){near}; docs/SWEEPS.md lists them")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name that columns have is parsed to its own figure, whatever the stream is called.
    #[test]
    fn names_of_columns_are_names_of_figures() {
        for headline in headline::ALL.iter() {
            let figure = Figure::parse(&headline.name).unwrap();
            assert_eq!((figure.stream(), figure.name()), (None, headline.name.clone()));
            assert_eq!(figure.headline().name, headline.name);
        }
        for stream in ["log", "a.b", "read.p99_us", "stream", "iops", ".", "stream.x.iops"] {
            for (place, headline) in headline::of_streams().enumerate() {
                let name = format!("stream.{stream}.{}", headline.name);
                let figure = Figure::parse(&name).unwrap();
                assert_eq!((figure.stream(), figure.place()), (Some(stream), place), "{name}");
                assert_eq!((&figure.headline().name, figure.name()), (&headline.name, name));
            }
        }
    }

    #[test]
    fn other_names_are_refused_with_the_nearest_one() {
        let refused = |name: &str, near: &str| {
            let why = Figure::parse(name).unwrap_err();
            assert!(why.starts_with(&format!("{name} is no figure")), "{why}");
            let near = format!("; did you mean {near}?");
            assert!(why.contains(&near), "{near}: {why}");
        };
        refused("al.p99_us", "all.p99_us");
        refused("stream.log.write.p99us", "stream.log.write.p99_us");
        refused("stream.a.b.raed.p99_us", "stream.a.b.read.p99_us");
        refused("stream.a.b.iop", "stream.a.b.iops");
        refused("stream.log.p99_us", "stream.log.all.p99_us");
        // Streams have no write amplification; a stream without a name is none.
        for name in
            ["stream.log.wa", "stream.iops", "stream..iops", "stream.read.p99_us", "stream."]
        {
            let why = Figure::parse(name).unwrap_err();
            assert!(why.starts_with(&format!("{name} is no figure of a stream (")), "{why}");
        }
        let why = Figure::parse("stream.log.wa").unwrap_err();
        assert!(!why.contains("did you mean"), "it is not misspelt: {why}");
        assert!(Figure::parse("stream").unwrap_err().starts_with("stream is no figure; "));
    }

    #[test]
    fn a_class_has_its_count() {
        let count = |name: &str| Figure::parse(name).unwrap().count().map(|count| count.name());
        assert_eq!(count("stream.a.read.iops"), None, "it is of the stream a.read");
        assert_eq!(count("stream.a.b.read.p99_us").as_deref(), Some("stream.a.b.read.count"));
        assert_eq!(count("all.mean_us").as_deref(), Some("all.count"));
    }
}
