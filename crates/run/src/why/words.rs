//! What time went to, in words.

use super::blame::{Limit, Step, Via, Who};
use super::history::{Cause, Operation};
use super::sums::{By, Key, Reason};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::graph::EdgeKind;
use flashyard_sim::config::Settings;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{FlushTrigger, Trigger};

/// The words for one device.
#[derive(Debug)]
pub struct Words<'a> {
    pub(super) settings: &'a Settings,
    /// Whether a stream that is explained has a limit of its rate.
    pub(super) is_limited: bool,
}

impl Words<'_> {
    /// What time went to, behind "p99 is 1 ms: 80 % ".
    pub fn row(&self, key: &Key) -> String {
        let what = match key.by {
            By::Operation(op, purpose, reason, limit) => {
                let commands = commands(op, purpose, reason);
                let limit =
                    limit.map_or_else(String::new, |limit| format!(" {}", limited(limit, true)));
                let why = self.why(op, purpose, reason);
                let place = if key.part() == Part::Delaying { "for" } else { "behind" };
                format!("{place} {commands}{limit}{why}")
            }
            By::Own(op, purpose) => self.own(key.part(), op, purpose),
            By::Channel(purpose, out) => {
                let way = if out { "out of" } else { "and commands to" };
                format!("for the channel, behind data {way} dies {}", of(purpose))
            }
            By::Nobody if key.via.is_some_and(Via::is_shared) => "for other reasons".to_string(),
            By::Nobody => self.plain(key.part()),
        };
        self.through(key.via, what)
    }

    /// What time went to, behind what the request waited for that was kept waiting by it.
    fn through(&self, via: Option<Via>, what: String) -> String {
        match via {
            Some(via) => format!("{}, {what}", self.waits_for(via)),
            None => what,
        }
    }

    /// Steps of one kind of the request of this number, which follow one another.
    pub fn steps(&self, steps: &[Step], waiter: u64) -> String {
        let first = self.step(&steps[0], waiter);
        let [Step { who: Who::Operation(one, limit), .. }, _, ..] = steps else { return first };
        let count = |op: Op| {
            let is = |step: &&Step| matches!(step.who, Who::Operation(one, _) if one.op == op);
            steps.iter().filter(is).count()
        };
        let counts = Op::ALL.map(|op| (count(op), op)).into_iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, op)| {
            format!("{count} {}{}", op.name(), if count == 1 { "" } else { "s" })
        });
        let counts: Vec<_> = counts.collect();
        let limit = limit.map_or_else(String::new, |limit| format!(" {}", limited(limit, false)));
        // The words of the first one, with all of them in its place.
        let mut first = first.strip_suffix(&limit).unwrap_or(&first).to_string();
        if let Cause::Request(order) = one.cause {
            let others = |step: &Step| match step.who {
                Who::Operation(other, _) => other.cause != one.cause,
                _ => false,
            };
            if steps.iter().any(others) {
                let of = format!("of request {order}");
                first = first.replace(&of, &format!("of requests {order} and others"));
            }
        }
        let verb = if steps[0].part == Part::Delaying { "for" } else { "behind" };
        first.replacen(
            &format!("{verb} {}", article(one.op)),
            &format!("{verb} {}", counts.join(", ")),
            1,
        )
    }

    /// A step of the request of this number.
    pub fn step(&self, step: &Step, waiter: u64) -> String {
        let what = match step.who {
            Who::Operation(operation, limit) => self.behind(step, &operation, limit, waiter),
            Who::Own(operation) => {
                let what = self.own(step.part, operation.op, operation.purpose);
                format!("die {}: {what}", operation.die)
            }
            Who::Channel(..) | Who::Nobody => return self.row(&Key::of(step, waiter)),
        };
        self.through(step.via, what)
    }

    /// A request behind an operation.
    fn behind(
        &self,
        step: &Step,
        operation: &Operation,
        limit: Option<Limit>,
        waiter: u64,
    ) -> String {
        let Operation { die, op, purpose, cause, .. } = *operation;
        let place = if step.part == Part::Delaying { "for" } else { "behind" };
        let limit = limit.map_or_else(String::new, |limit| format!(" {}", limited(limit, false)));
        let cause = match cause {
            Cause::Request(order) if order == waiter => "of this request".to_string(),
            Cause::Request(order) => format!("of request {order}"),
            Cause::Job(job) => {
                let blocks = self.settings.geometry.blocks_per_plane;
                let start = match job.trigger {
                    Trigger::FewBlocks => format!("free blocks fell to {}", job.free_blocks),
                    Trigger::Needed => format!("a write needed one of {} blocks", job.free_blocks),
                    Trigger::Pace => {
                        let plural = if job.free_blocks == 1 { "" } else { "s" };
                        format!("paced collection: {} free block{plural} left", job.free_blocks)
                    }
                    Trigger::Idle => "no request was outstanding".to_string(),
                    Trigger::Wear => "levels wear".to_string(),
                    Trigger::Upkeep => "upkeep".to_string(),
                    Trigger::FoldIdle => "folded, no request was outstanding".to_string(),
                    Trigger::FoldForWrite => "folded, a write waited for the SLC cache".to_string(),
                    Trigger::FoldForSpace => {
                        format!("folded, free blocks fell to {}", job.free_blocks)
                    }
                };
                format!("(victim {} of plane {}, {start})", job.victim % blocks, job.plane.get())
            }
            Cause::Merge(merge) => {
                let write = merge
                    .request
                    .map_or_else(String::new, |order| format!(" for the write of request {order}"));
                format!("({}{write})", merges(merge.kinds.map(|count| count > 0)))
            }
            Cause::Flush(trigger) => {
                format!("of buffer flushes{}", self.why(op, purpose, Reason::Flush(trigger)))
            }
            other => self
                .why(op, purpose, Reason::of(other, waiter))
                .trim_start_matches(", ")
                .to_string(),
        };
        let space = if cause.is_empty() { "" } else { " " };
        format!("die {die}: {place} {} {}{space}{cause}{limit}", article(op), noun(purpose))
    }

    /// Why commands were there; the limit of suspensions is told elsewhere.
    fn why(&self, op: Op, purpose: Purpose, reason: Reason) -> String {
        let gc = &self.settings.keys.gc;
        match reason {
            Reason::Job(Trigger::FewBlocks) => {
                format!(", which began at {} free blocks or fewer", gc.soft_free_blocks)
            }
            Reason::Job(Trigger::Needed) => {
                format!(", which began when a write found only {} blocks free", gc.reserve_blocks)
            }
            Reason::Job(Trigger::Pace) => {
                let block = f64::from(self.settings.geometry.units_per_block());
                let spare = self.settings.spare_target() as f64 / block;
                format!(", which is paced to keep {spare} blocks of a plane spare")
            }
            Reason::Job(Trigger::Idle | Trigger::FoldIdle) => {
                ", which began while the device was idle".to_string()
            }
            Reason::Job(Trigger::Wear) => ", which level wear".to_string(),
            Reason::Job(Trigger::Upkeep) => ", which upkeep asked for".to_string(),
            Reason::Job(Trigger::FoldForWrite) => {
                ", which began when a write found no room in the SLC cache".to_string()
            }
            Reason::Job(Trigger::FoldForSpace) => {
                ", which began when a plane was short of free blocks".to_string()
            }
            Reason::Map => ", whose entries garbage collection has moved".to_string(),
            Reason::Merge(kinds) => format!(" ({})", merges(kinds)),
            Reason::Flush(trigger) => {
                let why = match trigger {
                    FlushTrigger::Asked => "which a request asked for",
                    FlushTrigger::Beside => "which share a program with a write",
                    FlushTrigger::Watermark => {
                        let high = self.settings.keys.buffer.high_percent.ppm() / 10_000;
                        return format!(", which begin at {high} % dirty lines");
                    }
                    FlushTrigger::Awaited => "which make room in the full buffer",
                    FlushTrigger::Coming => "which make room for queued writes",
                    FlushTrigger::Written => "which follow each write",
                    FlushTrigger::Idle => "which began while the device was idle",
                    FlushTrigger::Policy => "which the host policy asked for",
                    FlushTrigger::Displaced => "which make room for what reads leave",
                };
                format!(", {why}")
            }
            Reason::Same | Reason::Other | Reason::Later => match (op, purpose) {
                (_, Purpose::MapFetch) => " (misses of the map cache)".to_string(),
                (_, Purpose::MapWriteback) => " (dirty victims of map misses)".to_string(),
                _ => String::new(),
            },
            Reason::Unknown => String::new(),
        }
    }

    /// What a request waited for, that was in turn kept waiting.
    fn waits_for(&self, via: Via) -> String {
        let text = match via {
            Via::Set(EdgeKind::MapFetch) => "for a map page that is fetched",
            Via::Set(EdgeKind::MapWriteback) => "for a map page that is written back",
            Via::Set(EdgeKind::Room) => "for a free block",
            Via::Set(EdgeKind::Merge) => "for a merge before it",
            Via::Set(EdgeKind::Gc) => "for garbage collection",
            Via::Set(EdgeKind::Flush) => "for earlier writes",
            Via::Set(EdgeKind::Order) if self.settings.zones.is_some() => {
                "for an action on its zone, or an earlier access of the page"
            }
            Via::Set(EdgeKind::Order) => "for an earlier access of the page",
            Via::Set(EdgeKind::ReadAhead) => "for its unit, which was being read ahead",
            Via::Line => "for room in the write buffer",
            Via::Slot => {
                return format!(
                    "for one of the {} slots of the queue",
                    self.settings.keys.queue.depth
                );
            }
            Via::Start => match self.settings.keys.host.dispatch_width {
                0 => "in the host queue",
                most => return format!("in the host queue, {most} requests are started at most"),
            },
            Via::Power => "for power",
        };
        text.to_string()
    }

    /// Time of the request's own work.
    fn own(&self, part: Part, op: Op, purpose: Purpose) -> String {
        match part {
            Part::Array => format!("its own {}, in the array", op.name()),
            Part::Retry => format!("its own {}, sensing again", op.name()),
            Part::Transfer => format!("its own {}, on the channel", op.name()),
            Part::Status => format!("its own {} was done and not yet polled", op.name()),
            Part::OwnMap => format!("its own map {} ({})", op.name(), miss(purpose)),
            other => self.plain(other),
        }
    }

    /// Time that nobody in particular took.
    fn plain(&self, part: Part) -> String {
        let text = match part {
            Part::Slot => {
                return format!(
                    "for one of the {} slots of the queue",
                    self.settings.keys.queue.depth
                );
            }
            Part::HostQueue if self.is_limited => {
                "in the host queue, behind earlier requests or for the rate limit of its stream"
            }
            Part::Link if self.settings.keys.interface.has_threads() => {
                "on the link to the host, and with the thread that submits and reaps"
            }
            Part::Link if !self.settings.keys.interface.wake_us.is_zero() => {
                "on the link to the host, and until the device was awake"
            }
            Part::Firmware if self.settings.keys.firmware.stalls_requests() => {
                "in firmware, which may have been in a stall"
            }
            Part::Flush if !self.settings.keys.buffer.release_us.is_zero() => {
                "for room in the write buffer, whose lines become usable one after another"
            }
            Part::Bus
                if self.settings.keys.energy.max_active_dies > 0
                    || self.settings.keys.energy.budget_mw > 0 =>
            {
                "for the channel or for power"
            }
            other => other.spent(),
        };
        text.to_string()
    }
}

const fn miss(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::MapWriteback => "a dirty victim of its miss",
        _ => "it missed the map cache",
    }
}

/// Commands of a kind.
fn commands(op: Op, purpose: Purpose, reason: Reason) -> String {
    let flushes = matches!(reason, Reason::Flush(_)) && purpose == Purpose::Host;
    match purpose {
        Purpose::Host if flushes => format!("{}s of buffer flushes", op.name()),
        Purpose::Host if reason == Reason::Same => {
            format!("{}s of its own other pages", op.name())
        }
        Purpose::Host if reason == Reason::Later => {
            format!("{}s of later requests, which went first", op.name())
        }
        Purpose::Host => format!("{}s of other requests", op.name()),
        _ => format!("{}s {}", op.name(), of(purpose)),
    }
}

const fn of(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Host => "for the host",
        Purpose::MapFetch => "of the map",
        Purpose::MapWriteback => "of map write-backs",
        Purpose::Gc => "of garbage collection",
        Purpose::MapGc => "of map pages",
        Purpose::Wear => "of wear levelling",
        Purpose::Merge => "of merges",
        Purpose::Fold => "of folding",
        Purpose::Journal => "of the journal",
        Purpose::Recovery => "of recovery",
        Purpose::ReadAhead => "of units read ahead",
    }
}

const fn noun(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Host => "of data",
        Purpose::MapFetch => "of a map page",
        Purpose::MapWriteback => "of a map write-back",
        Purpose::Gc => "of gc",
        Purpose::MapGc => "of a map page for gc",
        Purpose::Wear => "for wear",
        Purpose::Merge => "of a merge",
        Purpose::Fold => "of folding",
        Purpose::Journal => "of the journal",
        Purpose::Recovery => "of recovery",
        Purpose::ReadAhead => "of a unit ahead",
    }
}

const fn article(op: Op) -> &'static str {
    match op {
        Op::Read => "a read",
        Op::Program => "a program",
        Op::Erase => "an erase",
    }
}

/// Why operations, or one of them, did not make way.
fn limited(limit: Limit, many: bool) -> String {
    let (were, their) = if many { ("were", "their") } else { ("was", "its") };
    match limit {
        Limit::Never => "that cannot be suspended".to_string(),
        Limit::UsedUp(most) => {
            let plural = if most == 1 { "" } else { "s" };
            format!("that had used up {their} {most} suspension{plural}")
        }
        Limit::Leaves => format!("that {were} being suspended"),
        Limit::Goes => format!("that {were} not suspended"),
        Limit::Ends => format!("that {were} about to end"),
        Limit::Pulse => format!("that {were} in a pulse"),
    }
}

/// Kinds of merges.
fn merges(kinds: [bool; 4]) -> String {
    const NAMES: [&str; 4] = ["switch merge", "partial merge", "full merge", "dead log block"];
    let names = NAMES.iter().zip(kinds).filter(|(_, is)| *is).map(|(name, _)| *name);
    let names: Vec<_> = names.collect();
    if names.is_empty() { "merge".to_string() } else { names.join(", ") }
}
