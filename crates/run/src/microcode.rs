//! Programs of the user's own for the flash controller, which then say how long
//! bus requests take.

use crate::error::{read_text, wrong};
use anyhow::Result;
use flashyard_core::bus::channel::Sequencer;
use flashyard_core::bus::microcode::assemble::assemble;
use flashyard_core::bus::microcode::isa::Step;
use flashyard_core::bus::microcode::machine::Machine;
use flashyard_core::bus::microcode::timing::TimingSet;
use flashyard_core::bus::request::{BusClass, BusKind, BusRequest};
use flashyard_core::key::Kind;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};
use flashyard_sim::own::Parts;
use std::path::Path;

/// The value of `bus.timing` that means these programs.
pub const NAME: &str = "microcode";

/// The setting that takes these programs.
pub fn setting() -> String {
    format!("bus.timing={NAME}")
}

/// Instructions that a file may hold.
const MOST_STEPS: usize = 4_096;

/// Words of the scratch memory of a controller (assumed: 4 KiB).
const MEMORY_WORDS: usize = 1_024;

/// Data of a request is checked up to this size, in steps of a sector.
const CHECKED_BYTES: u32 = 16_384;

choice! {
    /// The times of a cycle, a latched byte and the waits.
    pub enum Timing {
        /// A byte in each cycle of 10 ns.
        Framework = "framework",
        /// ONFI SDR, mode 5.
        Sdr50 = "sdr-50",
        /// ONFI NV-DDR, mode 5.
        NvDdr200 = "nv-ddr-200",
    }
}

keys! {
    /// Keys of `[bus.microcode]`.
    pub struct MicrocodeKeys {
        /// The times of a cycle, a latched byte and the waits.
        timing: Timing = Timing::Framework => {
            kind: Kind::Choice(Timing::WORDS),
            source: "Kim, Lee and Min: 100 MB/s",
            flip: "sdr-50", with: &["bus.precision=requests"],
        },
    }
}

impl MicrocodeKeys {
    const fn timing_set(self) -> TimingSet {
        match self.timing {
            Timing::Framework => TimingSet::FRAMEWORK,
            Timing::Sdr50 => TimingSet::SDR_50,
            Timing::NvDdr200 => TimingSet::NV_DDR_200,
        }
    }
}

type Controller = Machine<Vec<Step>, Vec<u32>>;

/// A controller that runs the programs of the file.
struct Programs {
    controller: Controller,
    file: String,
}

impl Sequencer for Programs {
    fn duration(&mut self, request: &BusRequest) -> Span {
        let ran = self.controller.duration(request.kind, request.bytes);
        ran.unwrap_or_else(|fault| panic!("{}: {fault}", self.file))
    }
}

fn controller(steps: &[Step], set: TimingSet) -> Controller {
    let (pages, memory) = (256, vec![0; MEMORY_WORDS]);
    Machine::new(steps.to_vec(), memory, set, pages)
}

/// Adds the programs of a file to the parts, as a value of `bus.timing`. They are run once for
/// every kind of request, so that a program that jumps out of range, waits for data that never
/// come or leaves a chip enabled is refused with its line.
pub fn add(parts: Parts, path: &Path) -> Result<Parts> {
    let file = path.display().to_string();
    let text = read_text(&file)?;
    let mut memory = vec![Step::UNUSED; MOST_STEPS];
    let steps =
        assemble(&text, &mut memory).map_err(|error| wrong(&format!("{file}: {error}")))?.to_vec();
    check(&steps).map_err(|why| wrong(&format!("{file}: {why}")))?;
    let doc = "The microprograms of --microcode.";
    Ok(parts.sequencer(NAME, doc, move |keys: MicrocodeKeys| Programs {
        controller: controller(&steps, keys.timing_set()),
        file: file.clone(),
    }))
}

/// Runs the programs for requests of every kind and size.
fn check(steps: &[Step]) -> Result<(), String> {
    for kind in BusKind::ALL {
        let data = kind.class() == BusClass::Data;
        let sizes = if data { 1..=CHECKED_BYTES / 512 } else { 0..=0 };
        for sectors in sizes {
            let mut controller = controller(steps, TimingSet::FRAMEWORK);
            controller
                .duration(kind, sectors * 512)
                .map_err(|fault| format!("{fault}, in a request {}", kind.name()))?;
        }
    }
    Ok(())
}
