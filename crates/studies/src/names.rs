//! What the expressions of an experiment file can name.

use anyhow::{Result, bail};
use flashyard_sim::config::nearest;
use std::collections::BTreeMap;

/// A grid: subjects x workloads x points on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) name: String,
    pub(crate) device: usize,
    pub(crate) subjects: Vec<usize>,
    /// Those that were found.
    pub(crate) workloads: Vec<usize>,
    /// Their names; one without a name where the grid has no points.
    pub(crate) points: Vec<String>,
}

/// Workloads that stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Whether they are recorded ones.
    pub(crate) real: bool,
    /// Those that were found.
    pub(crate) workloads: Vec<usize>,
}

/// All names, in the order of the experiment file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) subjects: Vec<String>,
    pub(crate) workloads: Vec<String>,
    /// Files of workloads that were not found have no place among the workloads of groups.
    pub(crate) groups: Vec<Group>,
    pub(crate) grids: Vec<Grid>,
    pub(crate) known: Vec<String>,
    pub(crate) examples: Vec<String>,
    pub(crate) define: BTreeMap<String, String>,
}

impl Names {
    /// The workload, or the workloads of the group, of this name; and whether it is a group.
    pub(crate) fn workloads_of(&self, name: &str) -> Result<(Vec<usize>, bool)> {
        if let Some(workload) = self.workloads.iter().position(|known| known == name) {
            return Ok((vec![workload], false));
        }
        if let Some(group) = self.groups.iter().find(|group| group.name == name) {
            return Ok((group.workloads.clone(), true));
        }
        let groups = self.groups.iter().map(|group| group.name.as_str());
        let known = self.workloads.iter().map(String::as_str).chain(groups);
        bail!("{name}: no workload and no group of this name{}", nearest(name, known));
    }
}
