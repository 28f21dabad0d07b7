//! What each instant of a request's latency went to, and who is to blame.

use super::history::{Cause, Did, Held, History, Operation};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{DieId, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::observe::{Doing, Piece};

/// Why an operation did not make way for a read that waited behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Limit {
    /// The device suspends no such operation.
    Never,
    /// It had used up this number of suspensions.
    UsedUp(u64),
    /// It was being suspended.
    Leaves,
    /// It was going on after a suspension, or could have been suspended.
    Goes,
    /// It was about to end: suspending it would have taken as long.
    Ends,
}

/// Who a part of a latency is due to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    /// Nobody in particular.
    Nobody,
    /// An operation of a die, and why it did not make way.
    Operation(Operation, Option<Limit>),
    /// A command of the request itself.
    Own(Operation),
    /// What a channel carried: data out of a die or into one, and their purpose.
    Channel(Purpose, bool),
}

/// A part of a latency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) from: Time,
    pub(super) until: Time,
    /// How much of that: less than all of it where the account of a run knows no better.
    pub(super) ns: u64,
    pub(super) part: Part,
    /// What the request waited for that was in turn kept waiting, if it waited for another one.
    pub(super) edge: Option<EdgeKind>,
    pub(super) who: Who,
}

/// How the time of a set is looked at: as a request's own, or from one that waits for it.
#[derive(Clone, Copy)]
struct View {
    edge: Option<EdgeKind>,
    /// Whether some set on the way there belongs to another request, or to none.
    others: bool,
}

impl View {
    /// The part that stands for work of the set itself.
    const fn own(self) -> Part {
        match self.edge {
            Some(EdgeKind::Flush) => Part::Flush,
            _ if self.others => Part::Delaying,
            _ => Part::OwnMap,
        }
    }

    /// The part that another one becomes.
    const fn part(self, part: Part) -> Part {
        match self.edge {
            Some(EdgeKind::Flush) => Part::Flush,
            _ => part,
        }
    }
}

/// Finds who is to blame.
pub(super) struct Blamer<'a> {
    pub(super) settings: &'a Settings,
    pub(super) history: &'a History,
}

impl Blamer<'_> {
    /// The steps of the set that has a number now, from its first piece to its last; those whose
    /// time is charged otherwise by the account of the run are corrected.
    pub(super) fn steps(&self, set: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        for did in self.history.current(set) {
            let first = steps.len();
            self.piece(did, &mut steps);
            steps[first..].sort_by_key(|step: &Step| (step.from, step.until));
            reconcile(&did.piece.parts, (did.piece.from, did.piece.until), &mut steps, first);
        }
        steps
    }

    /// What a piece of the request's own set went to.
    fn piece(&self, did: &Did, steps: &mut Vec<Step>) {
        let Piece { from, until, doing, parts, die, .. } = did.piece;
        let edge = match doing {
            Doing::Waits(_, edge) => Some(edge),
            _ => None,
        };
        let view = View { edge, others: false };
        match doing {
            Doing::Waits(..) | Doing::Die => self.look(*did, view, steps),
            Doing::Runs(waits) => {
                let own = Who::Own(own_operation(did));
                for wait in waits {
                    self.channel(die, wait, view, steps);
                }
                for part in Part::ALL.into_iter().filter(|part| *part != Part::Bus) {
                    let ns = parts.get(part);
                    if ns > 0 {
                        steps.push(Step { from, until, ns, part, edge: None, who: own });
                    }
                }
            }
            _ => {}
        }
    }

    /// What a piece went to, seen from a request; waits are followed to those that are waited for.
    fn look(&self, did: Did, view: View, steps: &mut Vec<Step>) {
        let mut left = vec![(did, view)];
        while let Some((did, view)) = left.pop() {
            let Piece { from, until, doing, die, command, .. } = did.piece;
            let mut plain = |part| {
                let (ns, who) = (until.since(from).as_ns(), Who::Nobody);
                steps.push(Step { from, until, ns, part, edge: view.edge, who });
            };
            match doing {
                Doing::Slot => plain(view.part(Part::Slot)),
                Doing::Firmware => plain(view.part(Part::Firmware)),
                Doing::Collecting => {
                    let who = Who::Operation(own_operation(&did), None);
                    let (ns, part) = (until.since(from).as_ns(), view.part(Part::DieGc));
                    steps.push(Step { from, until, ns, part, edge: view.edge, who });
                }
                Doing::Line | Doing::Buffer | Doing::Link => plain(view.own()),
                Doing::Die => {
                    let reads = command.request.is_some() && is_read(command.stage);
                    self.die(die, (from, until), reads, view, steps);
                }
                Doing::Runs(waits) => self.runs(&did, &waits, view, steps),
                Doing::Waits(set, edge) => {
                    let view = View { edge: view.edge.or(Some(edge)), ..view };
                    for source in self.history.of_set(set, (from, until)) {
                        let theirs = source.piece.command.request;
                        let same = theirs.is_some() && theirs == command.request;
                        left.push((source, View { others: view.others || !same, ..view }));
                    }
                }
            }
        }
    }

    /// Another set's command was on its die.
    fn runs(&self, did: &Did, waits: &[(Time, Time); 2], view: View, steps: &mut Vec<Step>) {
        let Piece { from, until, die, .. } = did.piece;
        let operation = own_operation(did);
        if operation.purpose.is_gc() {
            let (ns, part) = (until.since(from).as_ns(), view.part(Part::DieGc));
            let who = Who::Operation(operation, None);
            return steps.push(Step { from, until, ns, part, edge: view.edge, who });
        }
        let mut bus = 0;
        for &wait in waits {
            self.channel(die, wait, view, steps);
            bus += wait.1.since(wait.0).as_ns();
        }
        let ns = until.since(from).as_ns() - bus;
        if ns > 0 {
            let who = Who::Operation(operation, None);
            steps.push(Step { from, until, ns, part: view.own(), edge: view.edge, who });
        }
    }

    /// A command waited for its die, which others had.
    fn die(&self, die: DieId, span: (Time, Time), reads: bool, view: View, steps: &mut Vec<Step>) {
        for ((from, until), held) in self.history.of_die(die, span) {
            let ns = until.since(from).as_ns();
            let (part, who) = match held {
                None => (Part::Bus, Who::Nobody),
                Some(held) => {
                    let operation = held.operation;
                    let part = match operation.op {
                        _ if operation.purpose.is_gc() => Part::DieGc,
                        Op::Read => Part::DieRead,
                        Op::Program => Part::DieProgram,
                        Op::Erase => Part::DieErase,
                    };
                    let limit = if reads { self.limit(&held, from) } else { None };
                    (part, Who::Operation(operation, limit))
                }
            };
            steps.push(Step { from, until, ns, part: view.part(part), edge: view.edge, who });
        }
    }

    /// A command on its die waited for the channel.
    fn channel(&self, die: DieId, span: (Time, Time), view: View, steps: &mut Vec<Step>) {
        if span.0 == span.1 {
            return;
        }
        let channel = self.settings.geometry.channel_of(die).index();
        for ((from, until), carried) in self.history.of_channel(channel, span) {
            let who = carried.map_or(Who::Nobody, |one| Who::Channel(one.purpose, one.out));
            let (ns, part) = (until.since(from).as_ns(), view.part(Part::Bus));
            steps.push(Step { from, until, ns, part, edge: view.edge, who });
        }
    }

    /// Why an operation did not make way for a read from an instant on.
    fn limit(&self, held: &Held, from: Time) -> Option<Limit> {
        let nand = &self.settings.keys.nand;
        let most = match held.operation.op {
            Op::Read => return None,
            Op::Program => nand.program_suspends,
            Op::Erase => nand.erase_suspends,
        };
        Some(if most == 0 {
            Limit::Never
        } else if held.leaves {
            Limit::Leaves
        } else if held.suspended >= most {
            Limit::UsedUp(most)
        } else if held.until < Time::MAX && held.until.since(from).as_ns() <= nand.suspend_us {
            Limit::Ends
        } else {
            Limit::Goes
        })
    }
}

/// Whether a command reads for a request.
fn is_read(stage: &str) -> bool {
    matches!(stage, "DR" | "DRo" | "MRe" | "MRf")
}

/// The operation of a set's own command.
fn own_operation(did: &Did) -> Operation {
    let Piece { command, die, .. } = did.piece;
    let (op, purpose) = meaning(command.stage);
    let cause = command.request.map_or(did.cause, Cause::Request);
    Operation { die: die.get(), op, purpose, stage: command.stage, cause, ppn: None }
}

/// What a command does, and what for, by its short name.
fn meaning(stage: &str) -> (Op, Purpose) {
    match stage {
        "MRe" => (Op::Read, Purpose::MapWriteback),
        "MP" => (Op::Program, Purpose::MapWriteback),
        "MRf" => (Op::Read, Purpose::MapFetch),
        "DP" => (Op::Program, Purpose::Host),
        "DE" => (Op::Erase, Purpose::Host),
        "GR" => (Op::Read, Purpose::Gc),
        "GP" => (Op::Program, Purpose::Gc),
        "GE" => (Op::Erase, Purpose::Gc),
        "LR" => (Op::Read, Purpose::Merge),
        "LP" => (Op::Program, Purpose::Merge),
        "LE" => (Op::Erase, Purpose::Merge),
        "UR" => (Op::Read, Purpose::MapGc),
        "UP" => (Op::Program, Purpose::MapGc),
        _ => (Op::Read, Purpose::Host),
    }
}

/// Makes the steps from `first` on add up to the parts that the account of the run has charged.
pub(super) fn reconcile(
    parts: &Parts,
    (from, until): (Time, Time),
    steps: &mut Vec<Step>,
    first: usize,
) {
    for part in Part::ALL {
        let mut left = parts.get(part);
        for step in steps[first..].iter_mut().filter(|step| step.part == part) {
            step.ns = step.ns.min(left);
            left -= step.ns;
        }
        if left > 0 {
            steps.push(Step { from, until, ns: left, part, edge: None, who: Who::Nobody });
        }
    }
    let mut at = 0;
    steps.retain(|step| {
        at += 1;
        at <= first || step.ns > 0
    });
}
