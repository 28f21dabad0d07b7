//! Why a run ends early.

use crate::ftl::{Ftl, NandRule};
use flashyard_core::geometry::Geometry;
pub use flashyard_core::request::LAST_ARRIVAL;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{PlaneId, Ppn};
use std::fmt;

/// Why a run ended without results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// A request reaches past the end of the device.
    BeyondDevice {
        /// Which request, by order of arrival from 0.
        order: u64,
        /// Its first sector.
        first_sector: u64,
        /// Its length in sectors.
        sectors: u32,
        /// The device's sectors.
        capacity: u64,
    },
    /// A request arrives before the one that came before it.
    Backwards {
        /// Which request, by order of arrival from 0.
        order: u64,
    },
    /// A request arrives too late to be simulated.
    TooLate {
        /// Which request, by order of arrival from 0.
        order: u64,
    },
    /// The energy of the run does not fit 64 bits of picojoules.
    TooMuchEnergy,
    /// The device does not say how it recovers from a loss of power.
    NoCut,
    /// Requests are unanswered and nothing is left that could answer them.
    Stuck {
        /// The first unanswered request.
        order: u64,
        /// How many there are.
        requests: u64,
    },
    /// Garbage collection frees no space.
    NoRoom {
        /// The die whose writes wait.
        die: u32,
    },
    /// Garbage collection itself has used up the reserve.
    NoReserve {
        /// The plane.
        plane: u32,
    },
    /// So many blocks of a plane are worn out that the others cannot hold its data and collect
    /// garbage.
    WornOut {
        /// The plane.
        plane: u32,
        /// Its worn-out blocks, counted inside the plane from 0.
        worn: Vec<u32>,
        /// How many blocks it has.
        blocks: u32,
    },
    /// A phase that lasts until a time, or until its write amplification is stable, gets nowhere:
    /// its requests take no time.
    Standstill {
        /// Which request, by order of arrival from 0.
        order: u64,
    },
    /// The initial cache lines do not fit the device.
    InitialLines(String),
    /// A program breaks a rule of NAND, on a device without translation that checks them.
    BrokenRule {
        /// Which request, by order of arrival from 0.
        order: u64,
        /// The die, the block counted inside the die, and the page inside the block.
        die: u32,
        /// The block.
        block: u32,
        /// The page.
        page: u32,
        /// The rule.
        rule: NandRule,
    },
}

/// The first few of a list of numbers.
struct Numbers<'a>(&'a [u32]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        for (place, number) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{number}", if place == 0 { "" } else { ", " })?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

impl SimError {
    /// Refuses a request that comes too late, or reaches past a device of `capacity` sectors.
    pub(crate) fn check_arrival(request: &Request, order: u64, capacity: u64) -> Result<(), Self> {
        if request.arrival > LAST_ARRIVAL {
            return Err(Self::TooLate { order });
        }
        let fits = request.end_sector().is_some_and(|end| end <= capacity)
            && request.first_sector < capacity;
        let Request { first_sector, sectors, .. } = *request;
        if request.op != RequestOp::Flush && !fits {
            return Err(Self::BeyondDevice { order, first_sector, sectors, capacity });
        }
        Ok(())
    }

    /// Why writes of a plane find no room.
    #[cold]
    pub(crate) fn no_room(plane: PlaneId, geometry: &Geometry, ftl: &Ftl) -> Self {
        let blocks = ftl.blocks();
        if blocks.worn_out(plane) > 0 {
            // Superblocks are as many as the plane with the most worn-out blocks leaves.
            let most = |plane: &PlaneId| blocks.worn_out_blocks(*plane).count();
            let weakest = || ftl.planes().max_by_key(most).expect("a device has planes");
            let plane = if blocks.are_united() { weakest() } else { plane };
            return Self::WornOut {
                plane: plane.get(),
                worn: blocks.worn_out_blocks(plane).collect(),
                blocks: geometry.blocks_per_plane,
            };
        }
        Self::NoRoom { die: geometry.die_of_plane(plane).get() }
    }

    /// The program of a page by the request of this order breaks a rule of NAND.
    #[cold]
    pub(crate) fn broken_rule(order: u64, ppn: Ppn, geometry: &Geometry, rule: NandRule) -> Self {
        let blocks_of_die = geometry.planes * geometry.blocks_per_plane;
        Self::BrokenRule {
            order,
            die: geometry.die_of(ppn).get(),
            block: geometry.block_of(ppn).get() % blocks_of_die,
            page: geometry.page_in_block(ppn),
            rule,
        }
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondDevice { order, first_sector, sectors, capacity } => write!(
                f,
                "request {order}: sectors {first_sector} + {sectors} reach past the end of the device ({capacity} sectors)"
            ),
            Self::Backwards { order } => {
                write!(f, "request {order} arrives before the request that precedes it")
            }
            Self::TooLate { order } => write!(
                f,
                "request {order} arrives after more than {} years; times are nanoseconds from the start",
                LAST_ARRIVAL.as_ns() / (365 * 86_400 * 1_000_000_000)
            ),
            Self::TooMuchEnergy => {
                f.write_str("the run takes more than 18 MJ (2^64 pJ); lower the powers of [energy] or shorten the run")
            }
            Self::Stuck { order, requests } => write!(
                f,
                "request {order} and {} more were never answered: nothing is left to do that could answer them; a host policy must not wait for ever",
                requests - 1
            ),
            Self::NoRoom { die } => write!(
                f,
                "die {die}: garbage collection frees no space for waiting writes; raise gc.reserve_blocks (4 is enough for most devices), ftl.over_provisioning_percent or geometry.blocks_per_plane"
            ),
            Self::NoReserve { plane } => write!(
                f,
                "plane {plane}: garbage collection has no free block left for what it copies and rewrites; raise gc.reserve_blocks (4 is enough for most devices), or set those of gc.map_reserve = \"half\" and gc.erase_after_map = false that are not set"
            ),
            Self::WornOut { plane, worn, blocks } => write!(
                f,
                "plane {plane}: {} of its {blocks} blocks are worn out, and the others have no room for its data and for garbage collection; raise nand.endurance_cycles or ftl.over_provisioning_percent, or shorten the run. The worn-out blocks: {}",
                worn.len(),
                Numbers(worn)
            ),
            Self::Standstill { order } => write!(
                f,
                "request {order} and those before it are answered in no time, so the phase would never end; set nand.unmapped_read = \"array\", or a number of requests"
            ),
            Self::NoCut => f.write_str(
                "the device does not say how it recovers from a loss of power; set power.oob_scan = true",
            ),
            Self::InitialLines(why) => f.write_str(why),
            Self::BrokenRule { order, die, block, page, rule } => {
                write!(f, "request {order} programs page {page} of block {block} of die {die}, ")?;
                match rule {
                    NandRule::Programmed => f.write_str("which is not erased")?,
                    NandRule::Sequential { next } => {
                        write!(f, "where page {next} comes next (nand.program_order = \"sequential\")")?;
                    }
                    NandRule::Ascending => f.write_str(
                        "and a later page has been programmed (nand.program_order = \"ascending\")",
                    )?,
                }
                f.write_str(
                    "; write to erased pages in order, under policy.command = \"fifo\", or set \
                     ftl.none.order = \"ignored\"",
                )
            }
        }
    }
}

impl std::error::Error for SimError {}

/// Why [`Device::run`](crate::device::Device::run) ended early: the workload failed, or the
/// simulation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError<E> {
    /// The workload could not give the next request.
    Workload(E),
    /// The device could not go on.
    Sim(SimError),
}
