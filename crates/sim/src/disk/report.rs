//! The report of a disk: that of the flash device without what a disk does not have.

use super::Disk;
use crate::account::{EndState, FtlFigures};
use crate::device::SimError;
use crate::ftl::layer::MergeCounts;
use crate::ftl::memory::Footprint;
use crate::report::{Counts, EnergyReport, PowerReport, Report, Wear};
use std::collections::BTreeMap;

impl Disk {
    /// The report over all measured phases.
    pub fn finish(self) -> Result<Report, SimError> {
        let Self { account, power, settings, .. } = self;
        let end = EndState {
            ftl: FtlFigures { free_blocks: 0, merges: MergeCounts::default() },
            wear: Wear::of(std::iter::empty()),
            footprint: Footprint { tables: 0, cache: 0, buffer: settings.keys.disk.cache_bytes() },
            cleaned: 0,
            buffer_units: settings.keys.disk.cache_bytes()
                / u64::from(settings.geometry.unit_bytes()),
            dirty_units: 0,
            initial: "spinning",
            effective_over_provisioning: None,
            bus: None,
        };
        let report = account.report(&end).ok_or(SimError::TooMuchEnergy)?;
        let energy = power.energy();
        let energy_pj = energy_report(&energy).ok_or(SimError::TooMuchEnergy)?;
        let span = report.power.span_ns;
        let moved = report.throughput.bytes_per_s.unwrap_or(0.0);
        let moved = moved * report.throughput.makespan_ns as f64 / 1e9;
        let mut report = Report {
            power: PowerReport {
                mean_mw: (span > 0).then(|| energy_pj.total as f64 / span as f64),
                j_per_mb: (moved > 0.0).then(|| energy_pj.total as f64 / 1e6 / moved),
                ..report.power
            },
            energy_pj,
            waits_ns: None,
            ..report
        };
        report.flash.write_amplification = None;
        report.flash.write_amplification_by.values_mut().for_each(|part| *part = None);
        report.phases.iter_mut().for_each(|phase| phase.write_amplification = None);
        let bins = report.series.iter_mut().flat_map(|series| &mut series.bins);
        bins.for_each(|bin| bin.write_amplification = None);
        Ok(report)
    }
}

/// Energy on each axis; none where it does not fit 64 bits.
fn energy_report(energy: &super::power::Energy) -> Option<EnergyReport> {
    let total: u128 = energy.phases.values().sum();
    let narrow = |pj: u128| u64::try_from(pj).ok();
    let axis = |parts: &BTreeMap<&'static str, u128>| -> Option<Counts> {
        assert_eq!(total, parts.values().sum::<u128>(), "energy adds up over {parts:?}");
        parts.iter().map(|(name, pj)| Some((*name, narrow(*pj)?))).collect()
    };
    let attributed = energy.causes["host"];
    Some(EnergyReport {
        total: narrow(total)?,
        attributed: narrow(attributed)?,
        unattributed: narrow(total - attributed)?,
        by_resource: axis(&energy.states)?,
        by_purpose: axis(&energy.causes)?,
        by_phase: axis(&energy.phases)?,
        link: ["read", "write"].map(|class| (class, 0)).into(),
    })
}
