//! The modules of a crate, and in which of them an item is defined.

use crate::code::{Code, Path};
use crate::tidy::File;
use std::collections::{BTreeMap, BTreeSet};

/// How many re-exports may lead to an item.
const MAX_STEPS: usize = 32;

/// An import of a module by a file of the same crate.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import<'a> {
    pub(crate) path: &'a str,
    /// Counted from 0.
    pub(crate) index: usize,
    /// The module of the file.
    pub(crate) from: String,
    /// The module that is named, or that defines what is named.
    pub(crate) to: String,
    /// Whether something of the module is named, and not just the module.
    pub(crate) is_item: bool,
}

/// A file with code.
struct Source<'a> {
    path: &'a str,
    module: String,
    paths: Vec<Path>,
    /// What it defines, as far as no macro does.
    defined: BTreeSet<String>,
}

/// The files of a crate by module, the root as an empty name; without those of tests.
pub(crate) struct Modules<'a> {
    sources: Vec<Source<'a>>,
    /// Where the first file of a module is among the sources.
    places: BTreeMap<String, usize>,
    /// Macros that are published at the root, with the module that defines each.
    macros: BTreeMap<String, String>,
}

/// What a path leads to.
struct Target {
    module: String,
    is_item: bool,
}

impl<'a> Modules<'a> {
    pub(crate) fn new(files: &'a [File], package: &str) -> Self {
        let root = format!("{package}/src/");
        let modules = files
            .iter()
            .filter_map(|file| Some((file, module_of(file.path.strip_prefix(&root)?)?)));
        let modules: Vec<_> =
            modules.map(|(file, module)| (file, module, Code::without_tests(&file.text))).collect();
        let of_tests: BTreeSet<String> = modules
            .iter()
            .flat_map(|(_, module, code)| code.test_modules.iter().map(|name| join(module, name)))
            .collect();
        let mut all =
            Self { sources: Vec::new(), places: BTreeMap::new(), macros: BTreeMap::new() };
        for (file, module, code) in modules {
            if of_tests.iter().any(|outer| is_within(&module, outer)) {
                continue;
            }
            let published = code.published_macros().map(|name| (name.to_owned(), module.clone()));
            all.macros.extend(published);
            all.places.entry(module.clone()).or_insert(all.sources.len());
            let defined = code.defined().map(str::to_owned).collect();
            all.sources.push(Source { path: &file.path, module, paths: code.paths(), defined });
        }
        all
    }

    /// The file of a module.
    pub(crate) fn path(&self, module: &str) -> &'a str {
        self.places.get(module).map_or("", |place| self.sources[*place].path)
    }

    /// Every import of a module by another, in the order of files and lines.
    pub(crate) fn imports(&self) -> BTreeSet<Import<'a>> {
        let mut found = BTreeSet::new();
        for source in &self.sources {
            for path in &source.paths {
                let Some(target) = self.target(source, path) else { continue };
                if target.module != source.module {
                    found.insert(Import {
                        path: source.path,
                        index: path.index,
                        from: source.module.clone(),
                        to: target.module,
                        is_item: target.is_item,
                    });
                }
            }
        }
        found
    }

    fn target(&self, source: &Source<'_>, path: &Path) -> Option<Target> {
        let mut names: Vec<&str> = path.names.iter().map(String::as_str).collect();
        if path.is_inner && names[0] == "super" {
            names[0] = "self";
        }
        let found = self.resolve(&source.module, &names, false, MAX_STEPS)?;
        // All that a module has is something of it.
        let is_item = found.is_item || path.alias.as_deref() == Some("*");
        Some(Target { is_item, ..found })
    }

    /// What `names` lead to from within `module`; nothing of another crate.
    fn resolve(&self, module: &str, names: &[&str], outer: bool, steps: usize) -> Option<Target> {
        let (first, rest) = names.split_first()?;
        let steps = steps.checked_sub(1)?;
        match *first {
            "crate" => self.walk("", rest, steps),
            "self" => self.walk(module, rest, steps),
            "super" => self.walk(parent(module), rest, steps),
            name if self.places.contains_key(&join(module, name)) => {
                self.walk(&join(module, name), rest, steps)
            }
            name => self.follow(module, self.use_of(module, name, outer)?, rest, steps),
        }
    }

    /// What `names` lead to behind the path of `module`.
    fn walk(&self, module: &str, names: &[&str], steps: usize) -> Option<Target> {
        let here = || Target { module: module.to_owned(), is_item: !names.is_empty() };
        let Some((first, rest)) = names.split_first() else { return Some(here()) };
        if *first == "super" {
            return self.walk(parent(module), rest, steps);
        }
        let inner = join(module, first);
        if self.places.contains_key(&inner) {
            return self.walk(&inner, rest, steps);
        }
        if let Some(path) = self.use_of(module, first, true) {
            return self.follow(module, path, rest, steps);
        }
        let of_macro = self.macros.get(*first).filter(|_| module.is_empty());
        let of_macro = of_macro.map(|module| Target { module: module.clone(), is_item: true });
        of_macro.or_else(|| self.in_globs(module, first, steps)).or_else(|| Some(here()))
    }

    /// The `use` of `module` that has a name; `outer` leaves out those that others cannot see.
    fn use_of(&self, module: &str, name: &str, outer: bool) -> Option<&Path> {
        let is_it = |path: &&Path| path.alias.as_deref() == Some(name) && (!outer || path.is_outer);
        self.source(module)?.paths.iter().find(is_it)
    }

    /// What `rest` leads to behind a `use` of `module`.
    fn follow(&self, module: &str, path: &Path, rest: &[&str], steps: usize) -> Option<Target> {
        let names = path.names.iter().map(String::as_str).chain(rest.iter().copied());
        self.resolve(module, &names.collect::<Vec<_>>(), true, steps)
    }

    /// The module that defines a name which `module` has by `use x::*`.
    fn in_globs(&self, module: &str, name: &str, steps: usize) -> Option<Target> {
        let source = self.source(module).filter(|source| !source.defined.contains(name))?;
        let is_glob = |path: &&Path| path.is_outer && path.alias.as_deref() == Some("*");
        source.paths.iter().filter(is_glob).find_map(|path| {
            let found = self.follow(module, path, &[], steps)?;
            let defines = self.source(&found.module)?.defined.contains(name);
            (!found.is_item && defines).then_some(Target { is_item: true, ..found })
        })
    }

    fn source(&self, module: &str) -> Option<&Source<'a>> {
        self.places.get(module).map(|place| &self.sources[*place])
    }
}

/// The module that a file below `src` holds, the root as an empty name; none for tests.
fn module_of(path: &str) -> Option<String> {
    let name = path.strip_suffix(".rs")?;
    let name = name.strip_suffix("/mod").unwrap_or(name);
    let last = name.rsplit('/').next().unwrap_or(name);
    if last == "tests" || last.ends_with("_tests") || name.contains("tests/") {
        return None;
    }
    Some(if name == "lib" || name == "main" { String::new() } else { name.replace('/', "::") })
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

pub(crate) fn is_within(module: &str, outer: &str) -> bool {
    module.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
