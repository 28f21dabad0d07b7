//! What each instant of a request's latency went to, and who is to blame.

use super::history::{Did, Freed, Held, History, Operation};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{DieId, Span, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::observe::Doing;
use std::cmp::Ordering;

/// Dies that are followed behind one another where each has waited for the power of the next.
const POWER_DEPTH: u32 = 8;

/// Sets that are followed behind one another where each did one thing for all of a span, such as to
/// wait for what the next one gave back at its end: one that is over at once may come back here.
const TURNS: u8 = 8;

/// Why an operation did not make way for a read that waited behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
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
    /// It was in the middle of a pulse, and was suspended when that was over.
    Pulse,
}

impl Limit {
    /// Its name in the JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::UsedUp(_) => "used_up",
            Self::Leaves => "under_way",
            Self::Goes => "not_asked",
            Self::Ends => "about_to_end",
            Self::Pulse => "pulse",
        }
    }
}

/// Who a part of a latency is due to.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// Nobody in particular.
    Nobody,
    /// An operation of a die, and why it did not make way.
    Operation(Operation, Option<Limit>),
    /// A command of the request itself.
    Own(Operation),
    /// What a channel carried: data out of a die or into one, and their purpose.
    Channel(Purpose, bool),
}

/// What a request waits for that is in turn kept waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Another set.
    Set(EdgeKind),
    /// The flush that makes room in the write buffer.
    Line,
    /// The command that gives back a slot of the queue.
    Slot,
    /// The request whose end lets this one start.
    Start,
    /// The die that gives power back.
    Power,
}

impl Via {
    /// Whether it is something that others have, not another set.
    pub const fn is_shared(self) -> bool {
        !matches!(self, Self::Set(_))
    }

    const fn is_power(self) -> bool {
        matches!(self, Self::Power)
    }

    /// All of them in their order, with their names in the JSON.
    const ALL: [(Self, &'static str); 12] = [
        (Self::Set(EdgeKind::MapFetch), "map_fetch"),
        (Self::Set(EdgeKind::MapWriteback), "map_writeback"),
        (Self::Set(EdgeKind::Room), "room"),
        (Self::Set(EdgeKind::Merge), "merge"),
        (Self::Set(EdgeKind::Gc), "gc"),
        (Self::Set(EdgeKind::Flush), "flush"),
        (Self::Set(EdgeKind::Order), "order"),
        (Self::Set(EdgeKind::ReadAhead), "read_ahead"),
        (Self::Line, "line"),
        (Self::Slot, "slot"),
        (Self::Start, "start"),
        (Self::Power, "power"),
    ];

    /// Its place in the order.
    fn place(self) -> usize {
        Self::ALL.iter().position(|(via, _)| *via == self).expect("all are listed")
    }

    /// Its name in the JSON.
    pub fn name(self) -> &'static str {
        Self::ALL[self.place()].1
    }
}

impl PartialOrd for Via {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Via {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// A part of a latency.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub until: Time,
    /// How much of that: less than all of it where the account of a run knows no better.
    pub ns: u64,
    /// The latency part.
    pub part: Part,
    /// What the request waited for that was in turn kept waiting.
    pub via: Option<Via>,
    /// Who was in the way.
    pub who: Who,
}

/// A request crosses the link before firmware works for it: where the two share a span and fill it,
/// they follow one another.
pub(super) fn put_in_order(steps: &mut [Step]) {
    for shared in steps.chunk_by_mut(|a, b| (a.from, a.until) == (b.from, b.until)) {
        let [first, second] = shared else { continue };
        let (from, until) = (first.from, first.until);
        if first.ns + second.ns != until.since(from).as_ns() {
            continue;
        }
        let (link, firmware) = match (first.part, second.part) {
            (Part::Link, Part::Firmware) => (first, second),
            (Part::Firmware, Part::Link) => (second, first),
            _ => continue,
        };
        link.until = from + Span::from_ns(link.ns);
        firmware.from = link.until;
    }
}

/// How the time of a set is looked at: as a request's own, or from one that waits for it.
#[derive(Clone, Copy)]
struct View {
    via: Option<Via>,
    /// Whether some set on the way there belongs to another request, or to none.
    others: bool,
    /// The part that all of its time is charged to, behind a wait for what others have.
    charged: Option<Part>,
    /// How many sets on the way there have waited all of the span.
    turns: u8,
}

impl View {
    /// The part that stands for work of the set itself.
    const fn own(self) -> Part {
        match (self.charged, self.via) {
            (Some(part), _) => part,
            (_, Some(Via::Set(EdgeKind::Flush))) => Part::Flush,
            _ if self.others => Part::Delaying,
            _ => Part::OwnMap,
        }
    }

    /// The part that another one becomes.
    const fn part(self, part: Part) -> Part {
        match (self.charged, self.via) {
            (Some(part), _) => part,
            (_, Some(Via::Set(EdgeKind::Flush))) => Part::Flush,
            _ => part,
        }
    }

    /// The same behind a wait for what others have, which is charged to this part.
    fn behind(self, via: Via, part: Part) -> Self {
        Self { via: self.via.or(Some(via)), charged: Some(part), ..self }
    }
}

/// What is looked at next.
enum Next {
    /// What a set did.
    Did(Did),
    /// A wait for what others have, which ended when one of them gave it back.
    Freed(Freed, (Time, Time)),
}

/// Finds who is to blame.
pub(crate) struct Blamer<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) history: &'a History,
}

impl Blamer<'_> {
    /// The steps of the set that has a number now, from its first piece to its last; those whose
    /// time is charged otherwise by the account of the run are corrected.
    pub(crate) fn steps(&self, set: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        for (did, parts) in self.history.current(set) {
            let first = steps.len();
            self.piece(did, parts, &mut steps);
            steps[first..].sort_by_key(|step: &Step| (step.from, step.until));
            reconcile(parts, (did.from, did.until), &mut steps, first);
        }
        steps
    }

    /// What a piece of the request's own set went to.
    fn piece(&self, did: &Did, parts: &Parts, steps: &mut Vec<Step>) {
        let Did { from, until, doing, die, .. } = *did;
        let via = match doing {
            Doing::Waits(_, edge) => Some(Via::Set(edge)),
            _ => None,
        };
        let view = View { via, others: false, charged: None, turns: 0 };
        match doing {
            Doing::Waits(..) | Doing::Die | Doing::Slot(_) => {
                self.look(Next::Did(*did), view, steps);
            }
            Doing::Line => {
                let view = view.behind(Via::Line, Part::Flush);
                self.look(Next::Freed(Freed::Line, (from, until)), view, steps);
            }
            Doing::Runs(waits) => {
                let own = Who::Own(self.own_operation(did));
                for wait in waits {
                    self.channel(die, wait, view, steps);
                }
                for part in Part::ALL.into_iter().filter(|part| *part != Part::Bus) {
                    let ns = parts.get(part);
                    if ns > 0 {
                        steps.push(Step { from, until, ns, part, via: None, who: own });
                    }
                }
            }
            _ => {}
        }
    }

    /// What a piece went to, seen from a request; waits are followed to those that are waited for.
    fn look(&self, next: Next, view: View, steps: &mut Vec<Step>) {
        let mut left = vec![(next, view)];
        while let Some((next, view)) = left.pop() {
            let did = match next {
                Next::Did(did) => did,
                Next::Freed(what, span) => {
                    self.freed(what, span, view, &mut left, steps);
                    continue;
                }
            };
            let Did { from, until, doing, die, command, .. } = did;
            let mut plain = |part| plain((from, until), part, view, steps);
            match doing {
                Doing::Slot(die) => {
                    let view = view.behind(Via::Slot, view.part(Part::Slot));
                    left.push((Next::Freed(Freed::Slot(die), (from, until)), view));
                }
                Doing::Line => {
                    let view = view.behind(Via::Line, view.own());
                    left.push((Next::Freed(Freed::Line, (from, until)), view));
                }
                Doing::Firmware => plain(view.part(Part::Firmware)),
                Doing::Collecting => {
                    // Of reads and programs; the programs take most of it.
                    let (op, purpose, stage) = (Op::Program, Purpose::Gc, "GP");
                    let copies = Operation { op, purpose, stage, ..self.own_operation(&did) };
                    let who = Who::Operation(copies, None);
                    let (ns, part) = (until.since(from).as_ns(), view.part(Part::DieGc));
                    steps.push(Step { from, until, ns, part, via: view.via, who });
                }
                Doing::Buffer | Doing::Link => plain(view.own()),
                Doing::Die => {
                    let reads = command.request.is_some() && is_read(command.stage);
                    self.die(die, (from, until), reads, view, steps);
                }
                Doing::Runs(waits) => self.runs(&did, &waits, view, steps),
                Doing::Waits(set, edge) => {
                    let view = View { via: view.via.or(Some(Via::Set(edge))), ..view };
                    for source in self.history.of_set(set, (from, until)) {
                        let theirs = source.command.request;
                        let same = theirs.is_some() && theirs == command.request;
                        let view = View { others: view.others || !same, ..view };
                        left.push((Next::Did(source), view));
                    }
                }
            }
        }
    }

    /// The time before a request was started, in the host queue.
    pub(crate) fn before_start(&self, span: (Time, Time)) -> Vec<Step> {
        let (via, charged) = (Some(Via::Start), Some(Part::HostQueue));
        let view = View { via, others: true, charged, turns: 0 };
        let mut steps = Vec::new();
        self.look(Next::Freed(Freed::Start, span), view, &mut steps);
        steps
    }

    /// A wait for what others have: the one that gave it back at the end had it for a while, and
    /// before that waited for it as well.
    fn freed(
        &self,
        what: Freed,
        (from, until): (Time, Time),
        view: View,
        left: &mut Vec<(Next, View)>,
        steps: &mut Vec<Step>,
    ) {
        let known = view.turns < TURNS;
        let pieces = known.then(|| self.history.of_freer(what, (from, until))).flatten();
        let pieces = pieces.unwrap_or_default();
        let Some(first) = pieces.last() else {
            let via = view.via.filter(|via| *via != Via::Start);
            return plain((from, until), view.own(), View { via, ..view }, steps);
        };
        let (began, over) = (first.from, pieces[0].until);
        if over < until {
            plain((over, until), view.own(), view, steps);
        }
        if from < began {
            left.push((Next::Freed(what, (from, began)), view));
        }
        let alone = pieces.len() == 1 && (began, over) == (from, until);
        let turns = if alone { view.turns + 1 } else { 0 };
        let others = View { others: true, turns, ..view };
        left.extend(pieces.into_iter().map(|did| (Next::Did(did), others)));
    }

    /// Another set's command was on its die.
    fn runs(&self, did: &Did, waits: &[(Time, Time); 2], view: View, steps: &mut Vec<Step>) {
        let Did { from, until, die, .. } = *did;
        let operation = self.own_operation(did);
        if operation.purpose.is_gc() {
            let (ns, part) = (until.since(from).as_ns(), view.part(behind(operation.purpose)));
            let who = Who::Operation(operation, None);
            return steps.push(Step { from, until, ns, part, via: view.via, who });
        }
        let mut bus = 0;
        for &wait in waits {
            self.channel(die, wait, view, steps);
            bus += wait.1.since(wait.0).as_ns();
        }
        let ns = until.since(from).as_ns() - bus;
        if ns > 0 {
            let who = Who::Operation(operation, None);
            steps.push(Step { from, until, ns, part: view.own(), via: view.via, who });
        }
    }

    /// A command waited for its die, which others had.
    fn die(&self, die: DieId, span: (Time, Time), reads: bool, view: View, steps: &mut Vec<Step>) {
        for ((from, until), held) in self.history.of_die(die, span) {
            let ns = until.since(from).as_ns();
            let (part, who) = match held {
                None => {
                    let view = view.behind(Via::Power, view.part(Part::Bus));
                    self.power(die, (from, until), 0, view, steps);
                    continue;
                }
                Some(held) => {
                    let operation = held.operation;
                    let part = match operation.op {
                        _ if operation.purpose.is_gc() => behind(operation.purpose),
                        Op::Read => Part::DieRead,
                        Op::Program => Part::DieProgram,
                        Op::Erase => Part::DieErase,
                    };
                    let limit = if reads { self.limit(&held, from) } else { None };
                    (part, Who::Operation(operation, limit))
                }
            };
            steps.push(Step { from, until, ns, part: view.part(part), via: view.via, who });
        }
    }

    /// A command waited for a die that did nothing: for power, which the die that gave it back had,
    /// and before that may have waited for as well; or for its turn on the channel.
    fn power(&self, die: DieId, span: (Time, Time), depth: u32, view: View, steps: &mut Vec<Step>) {
        let wait = self.history.power_wait(die, span).filter(|_| depth < POWER_DEPTH);
        let Some((wait, giver)) = wait.and_then(|wait| Some((wait, wait.giver?))) else {
            let via = if depth > 0 { view.via } else { view.via.filter(|via| !via.is_power()) };
            return plain(span, view.own(), View { via, ..view }, steps);
        };
        let from = span.0.max(wait.from);
        if span.0 < from {
            self.power(die, (span.0, from), depth, view, steps);
        }
        for ((from, until), held) in self.history.of_die(giver, (from, span.1)) {
            match held {
                None => self.power(giver, (from, until), depth + 1, view, steps),
                Some(held) => {
                    let (ns, part) = (until.since(from).as_ns(), view.own());
                    let who = Who::Operation(held.operation, None);
                    steps.push(Step { from, until, ns, part, via: view.via, who });
                }
            }
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
            steps.push(Step { from, until, ns, part, via: view.via, who });
        }
    }

    /// The operation of a set's own command.
    fn own_operation(&self, did: &Did) -> Operation {
        let (stage, cause) = (did.command.stage, self.history.cause_of(did));
        let (op, purpose) = meaning(stage);
        Operation { die: did.die.get(), op, purpose, stage, cause, ppn: None }
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
        } else if held.makes_way && !nand.pulse_us.is_zero() {
            Limit::Pulse
        } else if held.until < Time::MAX
            && held.until.since(from) <= nand.pulse_us + nand.suspend_us
        {
            Limit::Ends
        } else {
            Limit::Goes
        })
    }
}

/// Time that nobody in particular took.
fn plain((from, until): (Time, Time), part: Part, view: View, steps: &mut Vec<Step>) {
    let ns = until.since(from).as_ns();
    steps.push(Step { from, until, ns, part, via: view.via, who: Who::Nobody });
}

/// The part of waiting behind work of the device's own for a purpose.
const fn behind(purpose: Purpose) -> Part {
    if matches!(purpose, Purpose::Fold) { Part::DieFold } else { Part::DieGc }
}

/// Whether a command reads for a request.
fn is_read(stage: &str) -> bool {
    matches!(stage, "DR" | "DRo" | "MRe" | "MRf")
}

/// What a command does, and what for, by its short name.
fn meaning(stage: &str) -> (Op, Purpose) {
    match stage {
        "MRe" => (Op::Read, Purpose::MapWriteback),
        "MP" => (Op::Program, Purpose::MapWriteback),
        "MRf" => (Op::Read, Purpose::MapFetch),
        "DP" | "ZP" => (Op::Program, Purpose::Host),
        "DE" => (Op::Erase, Purpose::Host),
        "GR" => (Op::Read, Purpose::Gc),
        "GP" => (Op::Program, Purpose::Gc),
        "GE" => (Op::Erase, Purpose::Gc),
        "LR" => (Op::Read, Purpose::Merge),
        "LP" => (Op::Program, Purpose::Merge),
        "LE" => (Op::Erase, Purpose::Merge),
        "SR" => (Op::Read, Purpose::Fold),
        "SP" => (Op::Program, Purpose::Fold),
        "SE" => (Op::Erase, Purpose::Fold),
        "UR" => (Op::Read, Purpose::MapGc),
        "UP" => (Op::Program, Purpose::MapGc),
        "JP" => (Op::Program, Purpose::Journal),
        "AR" => (Op::Read, Purpose::ReadAhead),
        _ => (Op::Read, Purpose::Host),
    }
}

/// Makes the steps from `first` on add up to the parts that the account of the run has charged.
pub fn reconcile(parts: &Parts, (from, until): (Time, Time), steps: &mut Vec<Step>, first: usize) {
    for part in Part::ALL {
        let mut left = parts.get(part);
        for step in steps[first..].iter_mut().filter(|step| step.part == part) {
            step.ns = step.ns.min(left);
            left -= step.ns;
        }
        if left > 0 {
            steps.push(Step { from, until, ns: left, part, via: None, who: Who::Nobody });
        }
    }
    let mut at = 0;
    steps.retain(|step| {
        at += 1;
        at <= first || step.ns > 0
    });
}
