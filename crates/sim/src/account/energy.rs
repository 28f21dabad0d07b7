//! Energy of a run by resource, by purpose and by phase; mean and highest power.
//!
//! Operations are counted where they end (`metrics::counters`). Standby, controller, DRAM and
//! buffer take power x time, from the first arrival of a phase to the end of its work. Accesses to
//! memory take counts x energy. A device that sleeps, falls asleep or wakes takes the energy of
//! that state instead. Data on the link is bytes x energy. All sums are exact; the one division, of
//! a power by bytes, is rounded down once.

use super::Account;
use super::timeline::{FtlFigures, Passed};
use crate::config::EnergyKeys;
use crate::handle::RequestId;
use crate::metrics::counters::{Phase, Tally, Work};
use crate::metrics::exact::{Exact, MIB_BITS};
use crate::metrics::meter::MeterReport;
use crate::metrics::series::SeriesReport;
use crate::parts::layer::MergeCounts;
use crate::report::{Counts, EnergyReport, PowerReport, SleepReport};
use crate::saved::saved;
use crate::sleep::{Doze, Stretch};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::Time;
use std::collections::BTreeMap;

/// What energy is made of besides operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnergyTotals {
    /// Units that flushes got from the write buffer, by phase.
    pub(super) flushed: [u64; 3],
    /// Time without outstanding requests by phase, without and with work of the device's own.
    pub(super) quiet_ns: [[u64; 2]; 3],
    /// Until when there was no outstanding request.
    pub(super) quiet_until: Time,
    /// Accesses of tables and searches without outstanding requests, by phase, and all of them when
    /// they were last looked at.
    pub(super) quiet: [Accesses; 3],
    pub(super) seen: Accesses,
    /// Dies that waited for power, and how long in all.
    pub(super) power_waits: u64,
    pub(super) power_waited_ns: u64,
    /// Bytes that crossed the link, to the device and back.
    pub(super) link_bytes: [u64; 2],
    /// Time by phase in which space was reclaimed.
    pub(super) reclaim_ns: [u64; 3],
    /// Time by phase in which the device was not awake, without and with something to do, and the
    /// energy of its sleep.
    pub(super) dozed_ns: [[u64; 2]; 3],
    pub(super) sleep_pj: [u128; 3],
    /// Time asleep by level, and how often the device woke.
    pub(super) asleep_ns: [u64; 2],
    pub(super) wakes: u64,
}

/// Accesses of tables, and looks at candidates in searches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accesses {
    pub(super) tables: u64,
    pub(super) searches: u64,
}

saved!(Accesses { tables, searches });

saved!(EnergyTotals {
    flushed,
    quiet_ns,
    quiet_until,
    quiet,
    seen,
    power_waits,
    power_waited_ns,
    link_bytes,
    reclaim_ns,
    dozed_ns,
    sleep_pj,
    asleep_ns,
    wakes,
});

/// Energy of a phase besides operations, in picojoules.
#[derive(Clone, Copy, Default)]
pub(super) struct Background {
    pub(super) standby: u128,
    pub(super) controller: u128,
    pub(super) dram: u128,
    pub(super) buffer: u128,
    pub(super) buffer_standby: u128,
    pub(super) search: u128,
    pub(super) reclaim: u128,
    pub(super) sleep: u128,
}

impl Background {
    pub(super) fn total(&self) -> u128 {
        let memory = self.dram + self.buffer + self.buffer_standby;
        let states = self.reclaim + self.sleep;
        self.standby + self.controller + memory + self.search + states
    }
}

impl Account {
    /// No request was outstanding between two instants. `busy` is whether the device did work of
    /// its own meanwhile, `phase` when that was; `merges` counts what layers have done.
    pub(crate) fn rested(
        &mut self,
        from: Time,
        to: Time,
        (phase, busy): (Phase, bool),
        merges: impl FnOnce() -> MergeCounts,
    ) {
        if self.totals.has_begun() {
            let ns = to.since(from).as_ns();
            self.totals.energy.quiet_ns[phase as usize][usize::from(busy)] += ns;
        }
        self.see_accesses(from, phase, merges);
        self.totals.energy.quiet_until = to;
    }

    /// Accesses since the last look, made when nothing was outstanding and nothing is now, belong
    /// to the current phase; all others are of the foreground.
    pub(crate) fn see_accesses(
        &mut self,
        now: Time,
        phase: Phase,
        merges: impl FnOnce() -> MergeCounts,
    ) {
        let keys = &self.config.energy;
        if keys.dram_access_pj == 0 && keys.search_pj == 0 {
            return;
        }
        let all = self.accesses(&merges());
        let quiet = self.totals.energy.quiet_until == now;
        let totals = &mut self.totals.energy;
        let seen = std::mem::replace(&mut totals.seen, all);
        if quiet {
            let sum = &mut totals.quiet[phase as usize];
            sum.tables += all.tables - seen.tables;
            sum.searches += all.searches - seen.searches;
        }
    }

    /// All accesses until now.
    fn accesses(&self, merges: &MergeCounts) -> Accesses {
        let mut work = self.totals.attributed;
        work.merge(&self.totals.unattributed);
        let searches = self.totals.gc_searches + merges.searches;
        Accesses { tables: self.table_accesses(&work, merges), searches }
    }

    /// Power of standby, memory and the controller and of reclaiming space at this moment, while
    /// the device is awake.
    pub(super) fn background_power(&self, passed: Passed) -> Exact {
        if !self.totals.has_begun() {
            return [0; 3];
        }
        let keys = &self.config.energy;
        let controller =
            if passed.active { keys.controller_active_mw } else { keys.controller_idle_mw };
        let standby = keys.standby_mw * u64::from(self.config.geometry.dies());
        let power = u128::from((standby + controller) * 1_000);
        let power = power + self.reclaim_uw(passed.phase);
        [power, self.config.dram_uw_mib, self.config.buffer_uw_mib]
    }

    /// Power of reclaiming space at this moment, in microwatts.
    fn reclaim_uw(&self, phase: Phase) -> u128 {
        let reclaims = self.own_work > 0 && self.totals.has_begun();
        if reclaims { u128::from(self.config.energy.reclaim_mw_in(phase) * 1_000) } else { 0 }
    }

    /// The device begins work of its own: it collects garbage, merges blocks or levels wear. More
    /// of it may be under way.
    pub(crate) const fn own_work_begun(&mut self) {
        self.own_work += 1;
    }

    /// A piece of such work is over.
    pub(crate) const fn own_work_over(&mut self) {
        self.own_work -= 1;
    }

    /// Between two instants of a phase such work did not begin and did not end.
    pub(crate) fn reclaimed(&mut self, from: Time, until: Time, phase: Phase) {
        if self.own_work > 0 && self.totals.has_begun() {
            self.totals.energy.reclaim_ns[phase as usize] += until.since(from).as_ns();
        }
    }

    /// A stretch of time has passed on a device that may sleep.
    pub(crate) fn dozed(
        &mut self,
        stretch: &Stretch,
        passed: Passed,
        ftl: impl Fn() -> FtlFigures,
        pending: impl FnOnce() -> Time,
    ) {
        let Stretch { from, until, doze, pj, woke } = *stretch;
        self.dozes(doze != Doze::Awake && !woke);
        if doze == Doze::Awake {
            return self.time_passes(until, passed, ftl, pending);
        }
        if self.totals.has_begun() {
            let (totals, phase) = (&mut self.totals.energy, passed.phase as usize);
            let ns = until.since(from).as_ns();
            totals.dozed_ns[phase][usize::from(passed.active)] += ns;
            totals.sleep_pj[phase] += pj;
            totals.wakes += u64::from(woke);
            if let Doze::Asleep(level) = doze {
                totals.asleep_ns[level] += ns;
            }
        }
        if self.records_power() {
            let mut power = [self.reclaim_uw(passed.phase), 0, 0];
            let counts = self.totals.has_begun();
            if let Doze::Asleep(_) = doze {
                // The power is the same all the time: nothing is left to be recorded.
                let mw = pj.checked_div(u128::from(until.since(from).as_ns())).unwrap_or(0);
                power[0] += if counts { mw * 1_000 } else { 0 };
                return self.record_time(until, passed.outstanding, power, ftl, pending);
            }
            self.record_time(until, passed.outstanding, power, ftl, || pending().min(from));
            if counts {
                self.record(from, until, pj);
            }
        }
    }

    /// Energy of sleep by phase.
    pub(crate) const fn sleep_pj(&self) -> [u128; 3] {
        self.totals.energy.sleep_pj
    }

    /// The link carries data of a request, to the device or back, between two instants, the first
    /// of which may lie ahead of `now`.
    pub(crate) fn link_carries(
        &mut self,
        now: Time,
        (handle, order): (RequestId, u64),
        (back, bytes): (bool, u64),
        (from, until): (Time, Time),
    ) {
        self.carried(order, bytes);
        self.totals.energy.link_bytes[usize::from(back)] += bytes;
        let pj = bytes * self.config.energy.link_pj_per_byte;
        let Some(watch) = &mut self.watch else { return };
        if let Some((_, link_pj)) = watch.works.get_mut(handle.index()) {
            *link_pj += pj;
        }
        if watch.records_power() {
            watch.pending.link.push((from, until, u128::from(pj)));
            self.record_link(now);
        }
    }

    /// Energy of the link, to the device and back.
    fn link_pj(&self) -> [u128; 2] {
        let key = u128::from(self.config.energy.link_pj_per_byte);
        self.totals.energy.link_bytes.map(|bytes| u128::from(bytes) * key)
    }

    /// Energy of accesses to tables and to the write buffer and of searches in a phase, with all
    /// accesses until now.
    fn accesses_of(&self, phase: Phase, all: Accesses) -> [u128; 3] {
        let keys = &self.config.energy;
        let unit = u64::from(self.config.geometry.unit_bytes());
        let (get, put) = keys.buffer_pj(unit);
        let (totals, buffer) = (&self.totals.energy, &self.totals.buffer);
        let host = |count: u64| if phase == Phase::Foreground { u128::from(count) } else { 0 };
        let gets = host(buffer.read_hits) + u128::from(totals.flushed[phase as usize]);
        let (written, read) = (buffer.write_hits + buffer.write_misses, buffer.allocated_units);
        let puts = host(written + read + buffer.ahead_puts);
        let mut own = totals.quiet[phase as usize];
        if phase == Phase::Foreground {
            let sum = |count: fn(&Accesses) -> u64| totals.quiet.iter().map(count).sum::<u64>();
            own.tables += all.tables - sum(|quiet| quiet.tables);
            own.searches += all.searches - sum(|quiet| quiet.searches);
        }
        [
            u128::from(own.tables) * u128::from(keys.dram_access_pj),
            gets * u128::from(get) + puts * u128::from(put),
            u128::from(own.searches) * u128::from(keys.search_pj),
        ]
    }

    /// Energy of all accesses to memory until now.
    pub(super) fn accesses_pj(&self, merges: &MergeCounts) -> u128 {
        let all = self.accesses(merges);
        Phase::ALL.iter().flat_map(|phase| self.accesses_of(*phase, all)).sum()
    }

    /// Energy besides operations by phase.
    fn background(&self, merges: &MergeCounts) -> Vec<Background> {
        let (keys, totals) = (&self.config.energy, &self.totals.energy);
        let quiet = &totals.quiet_ns;
        let foreground = self.totals.spans.work - quiet.iter().flatten().sum::<u64>();
        let accesses = self.accesses(merges);
        let powers = [self.config.dram_uw_mib, self.config.buffer_uw_mib];
        // Of DRAM and buffer, times bytes of a MiB.
        let mut fj = [0; 2];
        let of_phase = |&phase: &Phase| {
            let [mut still, mut active] = quiet[phase as usize];
            if phase == Phase::Foreground {
                active = foreground;
            }
            let [dozed_still, dozed_active] = totals.dozed_ns[phase as usize];
            (still, active) = (still - dozed_still, active - dozed_active);
            let time = u128::from(still + active);
            let [tables, buffer, search] = self.accesses_of(phase, accesses);
            let whole = |fj: u128| (fj >> MIB_BITS) / 1_000;
            let before = fj.map(whole);
            for (fj, uw) in fj.iter_mut().zip(powers) {
                // What does not fit is refused when it is narrowed.
                *fj = fj.saturating_add(time.saturating_mul(uw));
            }
            Background {
                standby: time
                    * u128::from(keys.standby_mw)
                    * u128::from(self.config.geometry.dies()),
                controller: u128::from(active) * u128::from(keys.controller_active_mw)
                    + u128::from(still) * u128::from(keys.controller_idle_mw),
                dram: whole(fj[0]) - before[0] + tables,
                buffer,
                buffer_standby: whole(fj[1]) - before[1],
                search,
                reclaim: u128::from(totals.reclaim_ns[phase as usize])
                    * u128::from(keys.reclaim_mw_in(phase)),
                sleep: totals.sleep_pj[phase as usize],
            }
        };
        Phase::ALL.iter().map(of_phase).collect()
    }

    /// Energy on each axis; none where it does not fit 64 bits.
    pub(super) fn energy(&self, all: &Tally, merges: &MergeCounts) -> Option<EnergyReport> {
        let keys = &self.config.energy;
        let background = self.background(merges);
        let sum = |part: fn(&Background) -> u128| background.iter().map(part).sum::<u128>();
        let others = [
            ("standby", sum(|phase| phase.standby)),
            ("controller", sum(|phase| phase.controller)),
            ("dram", sum(|phase| phase.dram)),
            ("buffer", sum(|phase| phase.buffer)),
            ("buffer_standby", sum(|phase| phase.buffer_standby)),
            ("search", sum(|phase| phase.search)),
            ("reclaim", sum(|phase| phase.reclaim)),
            ("sleep", sum(|phase| phase.sleep)),
        ];
        let [to_device, back] = self.link_pj();
        let link = [("link", to_device + back)];
        let array = |op: Op| -> u128 {
            Purpose::ALL.iter().map(|purpose| all.array_pj(keys, op, *purpose)).sum()
        };
        let transfers = Purpose::ALL.iter().map(|purpose| all.transfer_pj(keys, *purpose)).sum();
        let resources = [
            ("array_read", array(Op::Read)),
            ("array_program", array(Op::Program)),
            ("array_erase", array(Op::Erase)),
            ("channel", transfers),
        ];
        let purposes = self.config.purposes().map(|p| (p.name(), all.purpose_pj(keys, p)));
        let phases = Phase::ALL.iter().zip(&background).map(|(phase, others)| {
            let work = self.totals.work[*phase as usize].energy_pj(keys);
            // Data crosses the link while its request is outstanding.
            let link = if *phase == Phase::Foreground { link[0].1 } else { 0 };
            (phase.word(), work + link + others.total())
        });
        let attributed = self.totals.attributed.energy_pj(keys) + link[0].1;
        let rest = others.iter().map(|(_, pj)| pj).sum::<u128>();
        // Host data that no request waits for: that of writes which were answered before.
        let flushed = self.totals.unattributed.purpose_pj(keys, Purpose::Host);
        let unattributed = self.totals.unattributed.energy_pj(keys) - flushed + rest;
        let total = attributed + flushed + unattributed;
        let narrow = |pj: u128| u64::try_from(pj).ok();
        let axis = |parts: &mut dyn Iterator<Item = (&'static str, u128)>| -> Option<Counts> {
            let parts: BTreeMap<_, u128> = parts.collect();
            assert_eq!(total, parts.values().sum::<u128>(), "energy adds up over {parts:?}");
            parts.into_iter().map(|(name, pj)| Some((name, narrow(pj)?))).collect()
        };
        Some(EnergyReport {
            total: narrow(total)?,
            attributed: narrow(attributed)?,
            flushed: narrow(flushed)?,
            unattributed: narrow(unattributed)?,
            by_resource: axis(&mut resources.into_iter().chain(link).chain(others))?,
            by_purpose: axis(&mut purposes.chain(link).chain(others))?,
            by_phase: axis(&mut { phases })?,
            link: Counts::from([("read", narrow(back)?), ("write", narrow(to_device)?)]),
        })
    }

    /// Mean power over the time of all work, and the highest of a bin.
    pub(super) fn power(
        &self,
        energy: &EnergyReport,
        series: Option<&SeriesReport>,
        meter: Option<MeterReport>,
    ) -> PowerReport {
        let totals = &self.totals.energy;
        let sleep = self.config.sleeps.then(|| SleepReport {
            asleep_ns: totals.asleep_ns[0],
            deep_asleep_ns: totals.asleep_ns[1],
            dozed_ns: totals.dozed_ns.iter().flatten().sum(),
            wakes: totals.wakes,
        });
        let bytes = self.totals.moved_bytes();
        let span = self.totals.spans.work;
        // The last bin may be cut short to almost nothing.
        let peak = series.and_then(|series| {
            let whole = series.bins.len().saturating_sub(1).max(1);
            let powers = series.bins.iter().take(whole).filter_map(|bin| bin.mean_mw);
            powers.max_by(f64::total_cmp)
        });
        PowerReport {
            span_ns: span,
            mean_mw: (span > 0).then(|| energy.total as f64 / span as f64),
            peak_mw: peak,
            j_per_mb: (bytes > 0).then(|| energy.total as f64 / 1e6 / bytes as f64),
            waits: totals.power_waits,
            waited_ns: totals.power_waited_ns,
            sleep,
            meter,
        }
    }
}

impl Work {
    /// Energy of the arrays, in picojoules: pages x energy where a page has one, else time x power
    /// (mW x ns). `slc` is whether the pages have one bit a cell.
    pub fn array_pj(&self, energy: &EnergyKeys, op: Op, slc: bool) -> u128 {
        match if slc { energy.slc_pj(op) } else { energy.page_pj(op) } {
            0 => u128::from(self.array_ns) * u128::from(energy.array_mw(op)),
            pj => u128::from(self.pages) * u128::from(pj),
        }
    }
}

/// Energy of operations.
impl Tally {
    /// Array energy of one operation for one purpose, in picojoules.
    pub fn array_pj(&self, energy: &EnergyKeys, op: Op, purpose: Purpose) -> u128 {
        let of = |slc: bool| self.of_cells(op, purpose, slc).array_pj(energy, op, slc);
        let first = of(false) + of(true);
        if op != Op::Read {
            return first;
        }
        first + self.retries(purpose).array_pj(energy, op, false)
    }

    /// Channel energy of one purpose, in picojoules.
    pub fn transfer_pj(&self, energy: &EnergyKeys, purpose: Purpose) -> u128 {
        u128::from(self.of_purpose(purpose).transfer_ns) * u128::from(energy.transfer_mw)
    }

    /// Energy of one purpose, in picojoules.
    pub fn purpose_pj(&self, energy: &EnergyKeys, purpose: Purpose) -> u128 {
        let arrays: u128 = Op::ALL.iter().map(|op| self.array_pj(energy, *op, purpose)).sum();
        arrays + self.transfer_pj(energy, purpose)
    }

    /// All energy, in picojoules.
    pub fn energy_pj(&self, energy: &EnergyKeys) -> u128 {
        Purpose::ALL.iter().map(|purpose| self.purpose_pj(energy, *purpose)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::counters::ArrayWork;

    #[test]
    fn energy_is_the_sum_of_its_parts_on_either_axis() {
        let energy = EnergyKeys::default();
        let mut tally = Tally::default();
        let work = |array_ns, transfer_ns| Work { ops: 1, pages: 2, array_ns, transfer_ns };
        tally.count(ArrayWork::Read, Purpose::Host, &work(60_000, 10_000));
        tally.count(ArrayWork::Program, Purpose::MapWriteback, &work(700_000, 10_000));
        tally.count(ArrayWork::Erase, Purpose::Gc, &work(5_000_000, 0));
        let expected = 60_000 * 36 + 700_000 * 94 + 5_000_000 * 352 + 20_000 * 20;
        assert_eq!(tally.energy_pj(&energy), expected);
        let again = Work { ops: 1, ..work(60_000, 0).times(3) };
        tally.count(ArrayWork::Retry, Purpose::Host, &again);
        let expected = expected + 3 * 60_000 * 36;
        assert_eq!(tally.energy_pj(&energy), expected);
        let erases = EnergyKeys { erase_pj: 7, ..energy };
        assert_eq!(tally.energy_pj(&erases), expected - 5_000_000 * 352 + 2 * 7);
        assert_eq!(tally.of_op(Op::Program).ops, 1);
        assert_eq!(tally.of_purpose(Purpose::Host).transfer_ns, 10_000);
    }
}
