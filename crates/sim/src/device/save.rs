//! Saving a drained device, and making one from what was saved.
//!
//! The continued run is the same, byte for byte, as that of the device that was saved: everything
//! that outlives a request is in the file, statistics included. Settings that shape it (the
//! sections geometry, map, ftl and placement, those of the scheme, the bits of a cell and the order
//! of its programs, with layers the journal) must agree; all others may differ, so that an
//! experiment can branch: another policy, another interface, other times.

use super::Device;
use crate::buffer::{Line, Saving};
use crate::config::{InitialBuffer, InitialState, Sections, Settings, show_value};
use crate::ftl::planned::Planned;
use crate::handle::LineId;
use crate::ledger::ftl_figures;
use crate::parts::policy::Policy;
use crate::saved::{Reader, RestoreError, Saved, Writer, load_list, save_list};

/// The first bytes of a saved device.
const MAGIC: [u8; 8] = *b"FLASHYRD";

/// Raised when anything that is saved changes.
const VERSION: u32 = 18;

/// Sections whose keys must agree, and single keys.
const SHAPE: [&str; 9] = [
    "geometry",
    "map",
    "ftl",
    "placement",
    "nand.bits_per_cell",
    "nand.one_shot",
    "nand.factory_bad_percent",
    "slc.static_percent",
    "slc.dynamic_percent",
];

/// The same where layers plan: the journal has blocks of its own then.
const SHAPE_OF_LAYERS: [&str; 3] =
    ["nand.program_order", "power.journal_entries", "power.checkpoint_mib"];

/// The keys that must agree, a line each.
fn shape(settings: &Settings) -> String {
    let mut text = String::new();
    let planned = settings.keys.plans() || settings.keys.is_zoned();
    let scheme = format!("ftl.{}", settings.keys.scheme_name());
    for (section, keys, _) in settings.keys.sections() {
        for key in keys {
            let path = format!("{section}.{}", key.name);
            let of_layers = section == scheme || SHAPE_OF_LAYERS.contains(&path.as_str());
            let shapes = SHAPE.contains(&section.as_ref()) || SHAPE.contains(&path.as_str());
            if !(shapes || planned && of_layers) {
                continue;
            }
            let value = settings.keys.get(&section, key.name).expect("a listed key has a value");
            let value = show_value(&key.kind, value);
            text += &format!("{path} = {value}\n");
        }
    }
    text
}

fn agree(saved: &str, wanted: &str) -> Result<(), RestoreError> {
    let (mut saved, mut wanted) = (saved.lines(), wanted.lines());
    loop {
        match (saved.next(), wanted.next()) {
            (None, None) => return Ok(()),
            (saved, wanted) if saved == wanted => {}
            (saved, wanted) => {
                let line = |line: Option<&str>| line.unwrap_or("nothing").to_string();
                return Err(RestoreError::Settings { saved: line(saved), wanted: line(wanted) });
            }
        }
    }
}

impl Device {
    /// Whether [`Self::save`] can save it: not where a user's own translation layer cannot be
    /// saved.
    pub fn can_be_saved(&self) -> bool {
        self.ftl.planned().is_none_or(Planned::can_be_saved)
    }

    /// Hands the state of the device to `sink`, piece by piece. Between phases a device is drained:
    /// nothing is under way.
    pub fn save(&self, sink: &mut dyn FnMut(&[u8])) {
        assert!(
            self.host.outstanding() == 0 && self.sets.live() == 0,
            "a device is saved when drained"
        );
        assert!(self.can_be_saved(), "the translation layer cannot be saved");
        let mut to = Writer::new(sink);
        to.bytes(&MAGIC);
        VERSION.save(&mut to);
        to.text(&shape(&self.settings));
        self.rests_at().max(self.host.ready()).save(&mut to);
        [self.host.arrived(), self.sets.next_number(), self.queues.next_insertion()].save(&mut to);
        self.ftl.save_map(&mut to);
        self.save_buffer(&mut to);
        self.ftl.save_planes(&mut to);
        self.flash.draws().save(&mut to);
        save_list(&self.flash.bus_marks(), &mut to);
        self.bit_errors.map_or([0; 3], |errors| errors.marks()).save(&mut to);
        self.host.save_sleep(&mut to);
        self.account.save(&mut to);
        to.finish();
    }

    /// The device that [`Self::save`] saved, with the command policy that its settings name.
    /// `source` fills a slice from its start and returns how many bytes it had; 0 is the end.
    pub fn restore(
        settings: &Settings,
        source: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Self, RestoreError> {
        Self::restore_with_policy(settings, Policy::of(settings), source)
    }

    /// The same with this command policy.
    pub fn restore_with_policy(
        settings: &Settings,
        policy: Policy,
        source: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Self, RestoreError> {
        let mut from = Reader::new(source);
        if from.array()? != MAGIC {
            return Err(RestoreError::NoSavedDevice);
        }
        let found = u32::from_le_bytes(from.array()?);
        if found != VERSION {
            return Err(RestoreError::Version { found, known: VERSION });
        }
        agree(&from.text()?, &shape(settings))?;
        let mut fresh = settings.clone();
        fresh.keys.state.initial = InitialState::Fresh;
        fresh.keys.buffer.initial = InitialBuffer::Empty;
        let mut device = Self::with_policy(&fresh, policy);
        device.settings = settings.clone();
        device.load(&mut from)?;
        from.finish()?;
        Ok(device)
    }

    /// Dirty and clean lines, each the least recently used one first. A device without a buffer
    /// holds none.
    fn save_buffer(&self, to: &mut Writer<'_>) {
        let Some(buffer) = &self.buffer else {
            [0u64; 6].save(to);
            return [0u32; 2].save(to);
        };
        buffer.save(to);
    }

    /// The buffer may have another size, if all dirty lines fit; of the clean ones those that go
    /// last stay. With the same size and as many banks each unit gets its old line.
    fn load_buffer(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let saved = Saving::load(from)?;
        let (dirty, clean, touched) = (saved.dirty, saved.clean, saved.touched);
        let units = u64::from(self.settings.buffer_units);
        let same = match &mut self.buffer {
            Some(buffer) => buffer.lay_out(&saved)?,
            None => false,
        };
        if dirty > units {
            return Err(RestoreError::Settings {
                saved: format!("{dirty} dirty units in its write buffer"),
                wanted: format!("a write buffer of {units} (buffer.bytes)"),
            });
        }
        let dropped = clean.saturating_sub(units - dirty);
        for at in 0..dirty.saturating_add(clean) {
            let (mut number, mut line) = (0u32, Line::VACANT);
            number.load(from)?;
            line.load(from)?;
            if line.is_dirty() != (at < dirty)
                || line.lpn.get() >= self.settings.exported_units
                || number >= touched
            {
                return Err(RestoreError::Corrupt);
            }
            let kept = at < dirty || at >= dirty + dropped;
            let plane = self.ftl.plane_of_lpn(line.lpn);
            let row = self.ftl.row_of(line.lpn, line.stream);
            if let Some(buffer) = self.buffer.as_mut().filter(|_| kept) {
                let group = buffer.group_of(plane, row);
                buffer.restore(&line, group, same.then(|| LineId::new(number)));
            }
        }
        Ok(())
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.now.load(from)?;
        let mut counts = [0u64; 3];
        counts.load(from)?;
        self.host.restore_arrived(counts[0]);
        self.sets.restore_number(counts[1]);
        self.queues.skip_insertions(counts[2]);
        self.ftl.load_map(from)?;
        self.load_buffer(from)?;
        self.ftl.load_planes(from)?;
        let mut drawn = [0u64; 3];
        drawn.load(from)?;
        self.flash.set_draws(drawn);
        let mut marks = Vec::new();
        load_list(&mut marks, || 0u64, from)?;
        self.flash.set_bus_marks(&marks);
        let mut marks = [0u64; 3];
        marks.load(from)?;
        if let Some(errors) = &mut self.bit_errors {
            errors.go_on(marks);
        }
        self.host.load_sleep(from, self.now)?;
        self.account.load(from, &ftl_figures(&self.ftl))
    }
}
