//! The report of a disk: that of the flash device without what a disk does not have.

use super::Disk;
use super::power::Energy;
use crate::account::{EndState, FtlFigures};
use crate::device::SimError;
use crate::metrics::counters::Phase;
use crate::parts::memory::Footprint;
use crate::report::{Counts, EnergyReport, Report, Wear};
use std::collections::BTreeMap;

impl Disk {
    /// The report over all measured phases.
    pub fn finish(self) -> Result<Report, SimError> {
        let Self { account, power, settings, .. } = self;
        let energy = energy_report(power.energy(), account.sleep_pj());
        let end = EndState {
            ftl: FtlFigures::none(),
            wear: Wear::of(std::iter::empty()),
            footprint: Footprint { tables: 0, cache: 0, buffer: settings.keys.disk.cache_bytes() },
            cleaned: 0,
            buffer_units: settings.keys.disk.cache_bytes()
                / u64::from(settings.geometry.unit_bytes()),
            dirty_units: 0,
            effective_over_provisioning: None,
            bus: None,
            slc: None,
            zones: None,
            energy: Some(energy.ok_or(SimError::TooMuchEnergy)?),
        };
        let report = account.report(&end).ok_or(SimError::TooMuchEnergy)?;
        let mut report = Report { waits_ns: None, ..report };
        report.flash.write_amplification = None;
        report.flash.write_amplification_by.values_mut().for_each(|part| *part = None);
        report.phases.iter_mut().for_each(|phase| phase.write_amplification = None);
        let bins = report.series.iter_mut().flat_map(|series| &mut series.bins);
        bins.for_each(|bin| bin.write_amplification = None);
        Ok(report)
    }
}

/// Energy on each axis, with that of sleep by phase; none where it does not fit 64 bits.
fn energy_report(mut energy: Energy, sleep_pj: [u128; 3]) -> Option<EnergyReport> {
    let slept: u128 = sleep_pj.iter().sum();
    energy.states.insert("sleep", slept);
    energy.causes.insert("sleep", slept);
    for (phase, pj) in Phase::ALL.iter().zip(sleep_pj) {
        *energy.phases.entry(phase.word()).or_default() += pj;
    }
    let total: u128 = energy.phases.values().sum();
    let narrow = |pj: u128| u64::try_from(pj).ok();
    let axis = |parts: &BTreeMap<&'static str, u128>| -> Option<Counts> {
        assert_eq!(total, parts.values().sum::<u128>(), "energy adds up over {parts:?}");
        parts.iter().map(|(name, pj)| Some((*name, narrow(*pj)?))).collect()
    };
    let (attributed, flushed) = (energy.causes["host"], energy.causes["write_back"]);
    Some(EnergyReport {
        total: narrow(total)?,
        attributed: narrow(attributed)?,
        flushed: narrow(flushed)?,
        unattributed: narrow(total - attributed - flushed)?,
        by_resource: axis(&energy.states)?,
        by_purpose: axis(&energy.causes)?,
        by_phase: axis(&energy.phases)?,
        link: ["read", "write"].map(|class| (class, 0)).into(),
    })
}
