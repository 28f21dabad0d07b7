//! Whether a device fits the memory that there is, before it is built.
//!
//! What there is: on Linux the least of what the kernel calls available, what the control groups of
//! the process leave it (both versions, the group itself and those around it), and the limits of
//! its address space (`ulimit -v`, strict over-commit). sysinfo, the library for such figures, has
//! no limits of address space, and those of nested control groups only in versions that need a
//! newer compiler than this project. Other systems are only asked for the memory itself.
//!
//! Memory that was promised may still be refused or taken back where the system promises more than
//! it has; so what counts is what a device uses at the start, not only what may be allocated.

use crate::cuts::Oracle;
use crate::error::wrong;
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::footprint::{Footprint, Part};
use std::path::{Path, PathBuf};

/// Bytes that the program takes beside its device.
const PROGRAM: u64 = 16 << 20;

/// Addresses that the allocator reserves for the thread that waits for signals (glibc: 64 MiB).
const RESERVED: u64 = 64 << 20;

const MIB: u64 = 1 << 20;

/// Parts that a message lists.
const LISTED: usize = 3;

/// An amount of memory and who limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    bytes: u64,
    of: &'static str,
}

impl Limit {
    const fn new(bytes: u64, of: &'static str) -> Self {
        Self { bytes, of }
    }
}

/// What there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Free {
    /// The memory that can be used, if it is known.
    memory: Option<Limit>,
    /// Memory that can be allocated, used or not.
    address_space: Option<Limit>,
}

/// The room for several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// The bytes, if they are known.
    pub bytes: Option<u64>,
    /// Whether there may be only one at a time: where the address space is limited, every further
    /// thread reserves addresses that it does not use.
    pub alone: bool,
}

impl Room {
    /// Whether a device of so many bytes fits beside others.
    pub fn has(&self, used: u64, bytes: u64) -> bool {
        !self.alone && self.bytes.is_none_or(|room| used.saturating_add(bytes) <= room)
    }
}

/// A device that is going to be built.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    /// What messages call it.
    pub device: &'a str,
    /// Its settings.
    pub settings: &'a Settings,
    /// Whether it is checked while it runs.
    pub checked: bool,
    /// Whether its run is watched for power cuts.
    pub cut: bool,
    /// Whether it comes from a file, and so may have been written.
    pub restored: bool,
    /// The memory that the user gives it, in MiB, in place of what is free.
    pub given_mib: Option<u64>,
}

impl Need<'_> {
    /// The same of a run that is watched for so many power cuts.
    #[must_use]
    pub const fn with_cuts(self, cuts: u32) -> Self {
        Self { cut: cuts > 0, ..self }
    }

    fn footprint(&self) -> Footprint {
        let mut footprint = self.settings.footprint(self.checked);
        if self.cut {
            let (what, bytes) = ("power cuts", Oracle::bytes(self.settings));
            let remedy = "leave the power cuts out";
            footprint.parts.push(Part { what, bytes, at_once: false, remedy });
        }
        footprint.parts.iter_mut().for_each(|part| part.at_once |= self.restored);
        footprint
    }

    /// Refuses a device that does not fit; returns what is worth a remark about one that does.
    pub fn check(&self) -> Result<Option<String>> {
        let footprint = self.footprint();
        let free = self.free();
        fits(&footprint, free).map_err(|why| wrong(&format!("device {}: {why}", self.device)))?;
        if !can_allocate(&footprint) {
            let parts = footprint.parts.clone();
            let why = refusal(parts, footprint.bytes(), "the system does not give it");
            return Err(wrong(&format!("device {}: {why}", self.device)));
        }
        let grows = free.memory.filter(|free| free.bytes < footprint.bytes());
        Ok(grows.map(|free| {
            format!(
                "device {}: it takes up to {} of memory as it is written, and there are {} {}",
                self.device,
                show(footprint.bytes()),
                show(free.bytes),
                free.of
            )
        }))
    }

    /// Bytes that the device takes when the run starts.
    pub fn bytes(&self) -> u64 {
        self.footprint().bytes_at_start() + PROGRAM
    }

    /// The room for devices like this one.
    pub fn room(&self) -> Room {
        let free = self.free();
        let bytes = free.memory.map(|limit| limit.bytes);
        Room { bytes, alone: free.address_space.is_some() }
    }

    fn free(&self) -> Free {
        let mut free = Free::now();
        if let Some(mib) = self.given_mib {
            free.memory = Some(Limit::new(mib.saturating_mul(MIB), "given by --memory"));
        }
        free
    }
}

/// The largest device that was not refused: none that is smaller needs a look at the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Largest {
    at_start: u64,
    bytes: u64,
}

impl Largest {
    /// [`Need::check`], of many devices for the same memory.
    pub fn check(&mut self, need: &Need<'_>) -> Result<()> {
        let footprint = need.footprint();
        let (at_start, bytes) = (footprint.bytes_at_start(), footprint.bytes());
        if at_start > self.at_start || bytes > self.bytes {
            need.check()?;
            *self = Self { at_start, bytes };
        }
        Ok(())
    }
}

/// Whether a device fits; if not, why, and what would help.
fn fits(footprint: &Footprint, free: Free) -> Result<(), String> {
    let short = |limit: Option<Limit>, bytes: u64, parts: Vec<Part>| {
        let limit = limit.filter(|limit| limit.bytes < bytes)?;
        Some(refusal(parts, bytes, &format!("there are {} {}", show(limit.bytes), limit.of)))
    };
    let own = Part { what: "program", bytes: PROGRAM, at_once: true, remedy: "" };
    let all: Vec<_> = footprint.parts.iter().copied().chain([own]).collect();
    let first = all.iter().filter(|part| part.at_once).copied().collect();
    let bytes = footprint.bytes().saturating_add(PROGRAM);
    let at_start = footprint.bytes_at_start().saturating_add(PROGRAM);
    let insist = || format!(", or insist with --memory {}", at_start.div_ceil(MIB));
    if let Some(why) = short(free.memory, at_start, first) {
        return Err(why + &insist());
    }
    short(free.address_space, bytes.saturating_add(RESERVED), all).map_or(Ok(()), Err)
}

/// Says why a device is refused: how much it needs, which parts need most, and how to make them
/// smaller.
fn refusal(mut parts: Vec<Part>, bytes: u64, but: &str) -> String {
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let shown = parts.iter().take(LISTED).filter(|part| part.bytes > 0);
    let shown: Vec<String> =
        shown.map(|part| format!("{} {}", show(part.bytes), part.what)).collect();
    let mut remedies: Vec<&str> = Vec::new();
    for part in parts.iter().take(LISTED).filter(|part| part.bytes >= bytes / 4) {
        if !remedies.contains(&part.remedy) && !part.remedy.is_empty() {
            remedies.push(part.remedy);
        }
    }
    let remedy = if remedies.is_empty() { String::new() } else { "; ".to_string() };
    let (of, remedies) = (shown.join(", "), remedies.join("; or "));
    format!("it needs {} of memory ({of}), but {but}{remedy}{remedies}", show(bytes))
}

/// Bytes in a readable unit.
fn show(bytes: u64) -> String {
    let mib = bytes as f64 / MIB as f64;
    if mib < 1_024.0 { format!("{mib:.1} MiB") } else { format!("{:.1} GiB", mib / 1_024.0) }
}

/// Whether the system gives as much as the device takes, in pieces as large as its parts. All of it
/// is given back untouched.
fn can_allocate(footprint: &Footprint) -> bool {
    let mut held: Vec<Vec<u8>> = Vec::new();
    footprint.parts.iter().map(|part| part.bytes).chain([PROGRAM]).all(|bytes| {
        let mut piece = Vec::new();
        let given = usize::try_from(bytes).is_ok_and(|size| piece.try_reserve_exact(size).is_ok());
        held.push(piece);
        given
    })
}

impl Free {
    /// As the system says.
    fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (status, limits) = (read("/proc/self/status"), read("/proc/self/limits"));
        let strict = read("/proc/sys/vm/overcommit_memory").trim() == "2";
        let meminfo = read("/proc/meminfo");
        let groups =
            Groups { memberships: read("/proc/self/cgroup"), root: "/sys/fs/cgroup".into() };
        let available = kib(&meminfo, "MemAvailable:");
        let available = available.map(|bytes| Limit::new(bytes, "free on this machine"));
        Self {
            memory: least([available, groups.free()]),
            address_space: least([
                address_space(&limits, &status),
                strict.then(|| committable(&meminfo)).flatten(),
            ]),
        }
    }
}

fn least(limits: [Option<Limit>; 2]) -> Option<Limit> {
    limits.into_iter().flatten().min_by_key(|limit| limit.bytes)
}

/// The bytes of a line of `/proc/meminfo` or `/proc/self/status`.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1_024)
}

/// Returns what is left of the address space, if it is limited (`ulimit -v`).
fn address_space(limits: &str, status: &str) -> Option<Limit> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kib(status, "VmSize:").unwrap_or(0);
    Some(Limit::new(most.saturating_sub(used), "left of the address space (ulimit -v)"))
}

/// Returns how much may still be allocated, if the system does not promise more than it has.
fn committable(meminfo: &str) -> Option<Limit> {
    let most = kib(meminfo, "CommitLimit:")?;
    let used = kib(meminfo, "Committed_AS:")?;
    Some(Limit::new(most.saturating_sub(used), "left to allocate (vm.overcommit_memory = 2)"))
}

/// The control groups of the process.
struct Groups {
    /// As in `/proc/self/cgroup`.
    memberships: String,
    /// Where control groups are mounted.
    root: PathBuf,
}

impl Groups {
    /// The least that a group of the process has left: its limit less what its processes use
    /// themselves, since the kernel gives up cached files.
    fn free(&self) -> Option<Limit> {
        let lines = self.memberships.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            Some((fields.nth(1)?, fields.next()?))
        });
        let free = lines.flat_map(|(controllers, group)| {
            let (root, limit, used) = if controllers.is_empty() {
                (self.root.clone(), "memory.max", "anon")
            } else if controllers.split(',').any(|name| name == "memory") {
                (self.root.join("memory"), "memory.limit_in_bytes", "total_rss")
            } else {
                return Vec::new();
            };
            // Inside a container a group may be named as outside of it; its root is then mounted.
            let group = Path::new(group.trim_start_matches('/'));
            let folders = group.ancestors().map(|group| root.join(group));
            folders.filter_map(|folder| left(&folder, limit, used)).collect()
        });
        free.min().map(|bytes| Limit::new(bytes, "left of the control group"))
    }
}

/// Returns what is left of a control group, if it has a limit.
fn left(folder: &Path, limit: &str, used: &str) -> Option<u64> {
    let most: u64 = std::fs::read_to_string(folder.join(limit)).ok()?.trim().parse().ok()?;
    let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let used = stat.lines().find_map(|line| line.strip_prefix(used)?.trim().parse::<u64>().ok());
    Some(most.saturating_sub(used.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_sim::footprint::Part;

    fn footprint() -> Footprint {
        let part =
            |what, mib: u64, at_once, remedy| Part { what, bytes: mib * MIB, at_once, remedy };
        Footprint {
            parts: vec![
                part("map", 500, false, "lower geometry.blocks_per_plane"),
                part("buffer", 300, true, "lower buffer.bytes"),
                part("checker", 10, true, "leave --check out"),
            ],
        }
    }

    #[track_caller]
    fn refused(memory: Option<u64>, address_space: Option<u64>, expected: &str) {
        let limit = |mib: u64| Limit::new(mib * MIB, "free");
        let free = Free { memory: memory.map(limit), address_space: address_space.map(limit) };
        assert_eq!(fits(&footprint(), free).unwrap_err(), expected);
    }

    #[test]
    fn what_is_used_at_the_start_has_to_be_free_and_all_of_it_allocatable() {
        let parts = "(500.0 MiB map, 300.0 MiB buffer, 16.0 MiB program)";
        let remedies = "lower geometry.blocks_per_plane; or lower buffer.bytes";
        // The map grows as it is written.
        let at_start = "it needs 326.0 MiB of memory (300.0 MiB buffer, 16.0 MiB program, 10.0 MiB \
                        checker), but there are 325.0 MiB free; lower buffer.bytes, or insist with \
                        --memory 326";
        refused(Some(325), None, at_start);
        let all = format!(
            "it needs 890.0 MiB of memory {parts}, but there are 889.0 MiB free; {remedies}"
        );
        refused(Some(326), Some(889), &all);
        let enough = Limit::new(890 * MIB, "free");
        let free = Free { memory: Some(enough), address_space: Some(enough) };
        assert_eq!(fits(&footprint(), free), Ok(()));
        assert_eq!(fits(&footprint(), Free::default()), Ok(()), "nobody knows");
    }

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let meminfo =
            "MemTotal: 100 kB\nMemAvailable:   70 kB\nCommitLimit: 90 kB\nCommitted_AS: 50 kB\n";
        assert_eq!(kib(meminfo, "MemAvailable:"), Some(70 * 1_024));
        assert_eq!(committable(meminfo).map(|limit| limit.bytes), Some(40 * 1_024));
        let limits = "Max cpu time  unlimited  unlimited  seconds\n\
                      Max address space         8192000              unlimited            bytes\n";
        let left = address_space(limits, "VmSize:\t 1000 kB\n").map(|limit| limit.bytes);
        assert_eq!(left, Some(8_192_000 - 1_024_000));
        let unlimited = limits.replace("8192000", "unlimited");
        assert_eq!(address_space(&unlimited, ""), None);
    }

    /// Both versions, the group and those around it, and groups that are named from outside of a
    /// container.
    #[test]
    fn the_tightest_control_group_counts() {
        let root = tempfile::TempDir::new().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let free = |memberships: &str| {
            let groups = Groups { memberships: memberships.to_string(), root: root.path().into() };
            groups.free().map(|limit| limit.bytes)
        };
        assert_eq!(free("0::/a/b\n"), None);
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "1000\n");
        write("a/memory.stat", "anon 300\nfile 600\n");
        assert_eq!(free("0::/a/b\n"), Some(700));
        write("a/b/memory.max", "500\n");
        assert_eq!(free("0::/a/b\n"), Some(500));
        assert_eq!(free("5:cpu:/a/b\n0::/\n"), None, "the root has no limit");
        write("memory/memory.limit_in_bytes", "900\n");
        write("memory/memory.stat", "cache 5\ntotal_rss 100\n");
        assert_eq!(free("4:cpu,memory:/docker/0123\n3:cpuset:/\n"), Some(800));
    }

    #[test]
    fn more_than_any_machine_has_cannot_be_allocated() {
        assert!(can_allocate(&footprint()));
        let mut large = footprint();
        large.parts[0].bytes = u64::MAX;
        assert!(!can_allocate(&large));
    }
}
