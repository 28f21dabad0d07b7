//! Everything that is counted, checked and told: totals, the time series, the checker, observers.

pub mod check;
mod counters;
pub(crate) mod durable;
mod energy;
mod phases;
mod placed;
mod promises;
pub(crate) mod recovered;
pub mod report;
mod results;
mod streams;
mod tables;
mod timeline;
mod totals;
mod usage;
mod watch;

use crate::config::{EnergyKeys, InitialState, MapStore, PlacementKeys, Settings};
use crate::metrics::meter::Meter;
use crate::metrics::series::{OfHandle, Series};
use crate::parts::memory::TableCost;
use crate::saved::{Reader, RestoreError, Saved, Writer, saved};
use durable::Durable;
use flashyard_core::command::Purpose;
use flashyard_core::geometry::Geometry;
use flashyard_core::request::SECTOR_BYTES;
use phases::OpenPhase;
use recovered::Took;
use totals::Totals;
use watch::Watch;

pub(crate) use counters::PortUse;
pub use phases::{Figures, PhaseReport};
pub use placed::HandleStatus;
pub(crate) use results::EndState;
pub(crate) use timeline::{FtlFigures, Passed};
pub(crate) use usage::Usage;
pub use usage::{Share, Utilisation};

/// The part of the settings that sums and reports depend on.
#[derive(Clone)]
struct Config {
    geometry: Geometry,
    energy: EnergyKeys,
    /// What accesses of tables cost; none where a scheme of the user's own does not say.
    tables: Option<TableCost>,
    store: MapStore,
    queue_depth: u64,
    /// Whether it has an SLC cache.
    slc: bool,
    /// Whether it can be cut.
    power: bool,
    /// Whether it writes pages of a journal or of a log of its map, or may after a cut.
    journals: bool,
    /// Whether it reads ahead.
    reads_ahead: bool,
    /// Whether a translation layer merges blocks in place of garbage collection.
    merges: bool,
    /// What it held at first.
    initial: &'static str,
    over_provisioning: f64,
    /// Whether host reads find wrong bits.
    bit_errors: bool,
    /// Whether reads sense pages again.
    retries: bool,
    /// What a read of a never-written page costs.
    unmapped_read: &'static str,
    /// Power of the DRAM, and of the write buffer, in microwatts times bytes of a MiB.
    dram_uw_mib: u128,
    buffer_uw_mib: u128,
    /// Whether the device ever sleeps.
    sleeps: bool,
    /// Erases that a block bears, or is rated for; 0: not known.
    cycles: u64,
    /// Bytes that the host sees.
    capacity_bytes: u64,
    placement: PlacementKeys,
}

impl Config {
    fn of(settings: &Settings) -> Self {
        Self {
            geometry: settings.geometry,
            energy: settings.keys.energy,
            tables: settings.tables,
            store: settings.keys.map.store,
            queue_depth: settings.keys.queue.depth,
            slc: settings.slc.is_some(),
            power: settings.keys.power.is_on(),
            journals: settings.keys.power.is_on() || settings.keys.map.log_bytes > 0,
            reads_ahead: settings.keys.buffer.reads_ahead(),
            merges: settings.keys.plans(),
            initial: if settings.keys.is_disk() {
                "spinning"
            } else {
                settings.keys.state.initial.word()
            },
            over_provisioning: settings.over_provisioning(),
            bit_errors: settings.keys.nand.bit_errors_ppb > 0,
            retries: settings.keys.retry.is_on(),
            unmapped_read: settings.keys.nand.unmapped_read.word(),
            dram_uw_mib: settings.dram_uw_mib(),
            buffer_uw_mib: settings.buffer_uw_mib(),
            sleeps: settings.keys.sleeps(),
            cycles: settings.keys.nand.cycles(),
            capacity_bytes: settings.capacity_sectors() * u64::from(SECTOR_BYTES),
            placement: settings.keys.placement,
        }
    }

    /// The purposes that reports show: that of folding only where there is an SLC cache, that of
    /// the journal where one may be written, that of recovery where the device can be cut, that of
    /// reading ahead where it does.
    fn purposes(&self) -> impl Iterator<Item = Purpose> {
        let Self { slc, power, journals, reads_ahead, .. } = *self;
        Purpose::ALL.into_iter().filter(move |purpose| match purpose {
            Purpose::Fold => slc,
            Purpose::Journal => journals,
            Purpose::Recovery => power,
            Purpose::ReadAhead => reads_ahead,
            _ => true,
        })
    }
}

/// What is known of the initial state that was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Made {
    /// The write amplification that goes with the state; none where none was looked for.
    pub write_amplification: Option<f64>,
    /// How far off it may be, where it was found by simulating a small pool: by how much that of a
    /// pool of half the size differs.
    pub error: Option<f64>,
}

saved!(Made { write_amplification, error });

/// What is known of a run.
#[derive(Clone)]
pub(crate) struct Account {
    totals: Totals,
    /// Whoever looks at single events; none of an unwatched run.
    watch: Option<Box<Watch>>,
    /// Sets of the device's own work that reclaims space.
    own_work: u64,
    phases: Vec<PhaseReport>,
    /// Work of measured time.
    measured: Usage,
    /// The last recovery, until a phase behind it is over.
    recovery: Option<Box<Took>>,
    /// The phase under way.
    open: Option<OpenPhase>,
    config: Config,
    made: Made,
    /// Whether the device was made from a saved one.
    restored: bool,
    /// Whether some phase of the run has several streams.
    tells_streams_apart: bool,
}

impl Account {
    /// Nothing has happened yet.
    pub(crate) fn new(settings: &Settings) -> Self {
        let metrics = &settings.keys.metrics;
        let series = (!metrics.bin_ms.is_zero()).then(|| Series::new(metrics.bin_ms.as_ns()));
        let meter = (!metrics.power_us.is_zero()).then(|| Meter::new(metrics.power_us.as_ns()));
        let durable = Durable::new(settings);
        let watch = Watch { durable, series, meter, ..Watch::default() }.following();
        Self {
            totals: Totals::new(metrics.skip_requests, settings.frontiers.streams),
            watch: watch.is_needed().then(|| Box::new(watch)),
            own_work: 0,
            phases: Vec::new(),
            measured: Usage::none(&settings.geometry),
            recovery: None,
            open: None,
            config: Config::of(settings),
            made: Made::default(),
            restored: false,
            tells_streams_apart: false,
        }
    }

    /// Some phase of the run has several streams, so that of a phase with one counts by itself too.
    pub(crate) const fn tell_streams_apart(&mut self) {
        self.tells_streams_apart = true;
    }

    /// The device has been put into its initial state.
    pub(crate) const fn initial_made(&mut self, made: Made) {
        self.made = made;
    }

    /// A unit of the host has been programmed with a placement handle, where there are several.
    #[inline]
    pub(crate) fn host_unit_programmed(&mut self, row: u8) {
        if let Some(placed) = &mut self.totals.placed {
            placed.programmed(row);
            self.place_in_series(row, OfHandle::MediaUnits, 1);
        }
    }

    /// The time series gets what has happened to a placement handle, where there is one.
    fn place_in_series(&mut self, row: u8, what: OfHandle, amount: u64) {
        if let Some(series) = self.series() {
            series.placed(row, what, amount);
        }
    }

    /// Whether the device was made from a saved one.
    pub(crate) const fn is_restored(&self) -> bool {
        self.restored
    }

    pub(crate) fn save(&self, to: &mut Writer<'_>) {
        to.text(self.config.initial);
        self.made.save(to);
        self.totals.save(to);
        self.measured.save(to);
        self.save_series(to);
        (self.phases.len() as u64).save(to);
        for phase in &self.phases {
            phase.save(to);
        }
    }

    /// Takes over what was saved; `ftl` is what the FTL that has been restored shows.
    pub(crate) fn load(
        &mut self,
        from: &mut Reader<'_>,
        ftl: &FtlFigures,
    ) -> Result<(), RestoreError> {
        self.restored = true;
        let saved = from.text()?;
        let state = InitialState::WORDS.iter().find(|word| **word == saved);
        self.config.initial = state.ok_or(RestoreError::Corrupt)?;
        self.made.load(from)?;
        self.totals.load(from)?;
        self.measured.load(from)?;
        self.load_series(from, ftl)?;
        for _ in 0..from.count()? {
            self.phases.push(PhaseReport::restored(from)?);
        }
        Ok(())
    }
}
