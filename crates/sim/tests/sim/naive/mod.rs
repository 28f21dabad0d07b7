//! A naive reference implementation of the map-cache-aware flash command schedulers of
//! Lee et al., IEEE Access 2021 (RCF, Size, RRF, FOT, DRS), and of plain FIFO.
//!
//! The device is the paper's: one die that runs one command at a time without preemption, a
//! small cache of map lines with LRU replacement, and a command queue of limited depth. All
//! times are integer microseconds.
//!
//! This is an oracle for tests. It shares no code with the simulator on purpose: a mistake in
//! shared code would sit on both sides of every comparison and never show. For the same reason
//! it is as literal as it can be: linear scans over plain vectors, no cleverness.
#![expect(unreachable_pub, reason = "a plain interface, whichever test includes the module")]

/// The scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    Fifo,
    Rcf,
    Size,
    Rrf,
    Fot,
    Drs,
}

/// The device and its state before the first request. `hazards`: whether map commands on the
/// same map page or line are kept in order. `lines`: the map cache from LRU to MRU,
/// `Some((slpn, dirty))`, or `None` for an empty line.
#[derive(Clone, Debug)]
pub struct Config {
    pub entries_per_line: u64,
    pub entries_per_map_page: u64,
    pub depth: usize,
    pub rrq_us: u64,
    pub wrq_us: u64,
    pub read_us: u64,
    pub program_us: u64,
    pub hazards: bool,
    pub lines: Vec<Option<(u64, bool)>>,
}

/// One request of the trace.
#[derive(Clone, Copy, Debug)]
pub struct Req {
    pub arrival_us: u64,
    pub write: bool,
    pub lpn: u64,
    pub pages: u64,
}

/// Everything that a run produced: completion time and flash operation time (FOT, delaying
/// commands included) of each request, the commands in the order in which the die ran them, and
/// the queue insertions in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub completion: Vec<u64>,
    pub fot: Vec<u64>,
    pub schedule: Vec<Exec>,
    pub queue_events: Vec<QueueEvent>,
}

/// One command that the die ran. `req` counts from 0, `page` is the page within the request,
/// `cmd` is one of `MRe`, `MP`, `MRf`, `DR`, `DP`, and `queue` is 0 or 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    pub start: u64,
    pub end: u64,
    pub req: usize,
    pub page: u64,
    pub cmd: &'static str,
    pub queue: usize,
}

/// One insertion of a command into a queue: its first, or (`requeue`) one with a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEvent {
    pub t: u64,
    pub requeue: bool,
    pub req: usize,
    pub page: u64,
    pub cmd: &'static str,
    pub queue: usize,
    pub key: u64,
}

/// Simulates the whole trace, which must be sorted by arrival.
pub fn simulate(config: &Config, trace: &[Req], policy: Policy) -> Run {
    assert!(config.depth > 0 && !config.lines.is_empty() && trace.iter().all(|r| r.pages > 0));
    assert!(trace.is_sorted_by_key(|r| r.arrival_us));
    let line = |l: &Option<(u64, bool)>| match *l {
        Some((slpn, dirty)) => Line { slpn: Some(slpn), dirty, fetch: None, clean: None },
        None => Line { slpn: None, dirty: false, fetch: None, clean: None },
    };
    let zero = vec![0; trace.len()];
    let mut sim = Sim {
        config,
        trace,
        policy,
        t: 0,
        lines: config.lines.iter().map(line).collect(),
        sets: vec![],
        active: vec![],
        requests: vec![],
        translated: 0,
        counted: vec![],
        queued: vec![],
        insertions: 0,
        running: None,
        run: Run { completion: zero.clone(), fot: zero, schedule: vec![], queue_events: vec![] },
    };
    let mut arrived = 0;
    loop {
        let completion = sim.running.map(|(_, end)| end);
        let arrival = trace.get(arrived).map(|r| r.arrival_us);
        let Some(t) = completion.into_iter().chain(arrival).min() else { break };
        sim.t = t;
        if completion == Some(t) {
            sim.complete();
        }
        while arrived < trace.len() && trace[arrived].arrival_us == t {
            sim.requests.push(arrived);
            arrived += 1;
        }
        sim.admit();
        if sim.running.is_none() {
            sim.dispatch();
        }
    }
    assert!(sim.active.is_empty() && sim.requests.is_empty(), "a request never finished");
    sim.run
}

/// One line of the map cache; empty if it has no `slpn` (first logical page).
struct Line {
    slpn: Option<u64>,
    dirty: bool,
    /// The set whose `MRf` fills the line; the line is pinned until then.
    fetch: Option<usize>,
    /// The set whose `MP` writes the line back in a batch.
    clean: Option<usize>,
}

/// "Command number `stage` of this set waits for command `cmd` of set `on`": MP for a
/// DLE-delay, `MRf` for a CLF-delay.
#[derive(Clone, Copy)]
struct Wait {
    stage: usize,
    on: usize,
    cmd: &'static str,
}

/// (is a write, FOT); the smaller the more urgent, so a read always precedes a write.
type Rank = (bool, u64);
const NOBODY: Rank = (true, u64::MAX);

/// The commands for one page of one request.
struct Set {
    req: usize,
    page: u64,
    cmds: Vec<&'static str>,
    /// How many of the commands are completed: the number of the current command.
    done: usize,
    waits: Vec<Wait>,
    /// Of a set that evicts a dirty line: the lines that its `MP` writes back, the victim first.
    writes_back: Vec<u64>,
    /// The most urgent of the requests that are CLF-delayed or DLE-delayed by this set.
    clf: Rank,
    dle: Rank,
    /// Whether it has a slot: from admission until it is done, also while it waits as delayed.
    slotted: bool,
    /// Whether the current command is in a queue or on the die.
    issued: bool,
}

fn is_program(cmd: &str) -> bool {
    cmd == "MP" || cmd == "DP"
}

/// The current command of `set`, in a queue, with its insertion number and the time when it first
/// came into one.
struct Queued {
    set: usize,
    queue: usize,
    key: u64,
    number: u64,
    first: u64,
    deadline: Option<u64>,
}

struct Sim<'a> {
    config: &'a Config,
    trace: &'a [Req],
    policy: Policy,
    t: u64,
    /// The map cache from LRU to MRU.
    lines: Vec<Line>,
    /// All sets ever made, in translation order: the index is the set number.
    sets: Vec<Set>,
    /// The sets that are not done, in ascending order.
    active: Vec<usize>,
    /// The I/O request queue.
    requests: Vec<usize>,
    /// How many pages of the head request are translated.
    translated: u64,
    /// The delaying commands (set, stage) already counted in the head request's FOT, also before
    /// a stall that split its translation.
    counted: Vec<(usize, usize)>,
    queued: Vec<Queued>,
    insertions: u64,
    running: Option<(usize, u64)>,
    run: Run,
}

impl Sim<'_> {
    fn duration(&self, cmd: &str) -> u64 {
        if is_program(cmd) { self.config.program_us } else { self.config.read_us }
    }

    /// The number of a command within its set.
    fn stage(&self, set: usize, cmd: &str) -> usize {
        self.sets[set].cmds.iter().position(|&c| c == cmd).expect("the set has the command")
    }

    fn is_over(&self, wait: &Wait) -> bool {
        self.stage(wait.on, wait.cmd) < self.sets[wait.on].done
    }

    fn is_delayed(&self, set: usize) -> bool {
        let s = &self.sets[set];
        s.waits.iter().any(|w| w.stage == s.done && !self.is_over(w))
    }

    /// All (set, command) of other requests that `set` waits for, directly or through what those
    /// (or sets of its own request) wait for in the stages up to the command waited for.
    fn delays(&self, set: usize) -> Vec<(usize, &'static str)> {
        let mut found: Vec<(usize, &'static str)> = Vec::new();
        let mut todo = vec![(set, self.sets[set].cmds.len() - 1)];
        while let Some((s, last)) = todo.pop() {
            for w in &self.sets[s].waits {
                if w.stage <= last && !self.is_over(w) && !found.contains(&(w.on, w.cmd)) {
                    found.push((w.on, w.cmd));
                    todo.push((w.on, self.stage(w.on, w.cmd)));
                }
            }
        }
        found.retain(|&(on, _)| self.sets[on].req != self.sets[set].req);
        found
    }

    /// Translates one page of a request into a new set; `false` if no line can be taken.
    fn translate(&mut self, req: usize, page: u64) -> bool {
        let Config { hazards, entries_per_line: k, entries_per_map_page: epm, .. } = *self.config;
        let Req { write, lpn, .. } = self.trace[req];
        let sl = (lpn + page) - (lpn + page) % k;
        let me = self.sets.len();
        let data = if write { "DP" } else { "DR" };
        let (mut cmds, mut waits, mut writes_back) = (vec![data], Vec::new(), Vec::new());

        let mut line;
        if let Some(i) = self.lines.iter().position(|l| l.slpn == Some(sl)) {
            line = self.lines.remove(i);
            if let Some(on) = line.fetch {
                waits.push(Wait { stage: 0, on, cmd: "MRf" });
            }
        } else {
            let empty = self.lines.iter().position(|l| l.slpn.is_none());
            let ready = || self.lines.iter().position(|l| l.fetch.is_none());
            let Some(i) = empty.or_else(ready) else { return false };
            let victim = self.lines.remove(i);
            if victim.dirty {
                let victim = victim.slpn.expect("an empty line is clean");
                let m = victim / epm;
                cmds = vec!["MRe", "MP", "MRf", data];
                let same_page = |writes_back: &[u64]| writes_back[0] / epm == m;
                if hazards && let Some(on) = self.write_back(same_page) {
                    waits.push(Wait { stage: 0, on, cmd: "MP" });
                }
                writes_back.push(victim);
                for l in &mut self.lines {
                    if l.dirty && l.fetch.is_none() && l.slpn.is_some_and(|slpn| slpn / epm == m) {
                        l.dirty = false;
                        l.clean = Some(me);
                        writes_back.extend(l.slpn);
                    }
                }
            } else {
                cmds = vec!["MRf", data];
                if let Some(on) = victim.clean {
                    waits.push(Wait { stage: 0, on, cmd: "MP" });
                }
            }
            let same_line = |writes_back: &[u64]| writes_back.contains(&sl);
            if hazards && let Some(on) = self.write_back(same_line) {
                // Harmless if the set waits for `on` already.
                waits.push(Wait { stage: cmds.len() - 2, on, cmd: "MP" });
            }
            line = Line { slpn: Some(sl), dirty: false, fetch: Some(me), clean: None };
        }
        line.dirty |= write;
        self.lines.push(line);

        self.active.push(me);
        let (done, clf, dle, slotted, issued) = (0, NOBODY, NOBODY, false, false);
        let set = Set { req, page, cmds, done, waits, writes_back, clf, dle, slotted, issued };
        self.sets.push(set);
        true
    }

    /// The latest set whose `MP` is not completed and whose lines to write back satisfy `test`.
    fn write_back(&self, test: impl Fn(&[u64]) -> bool) -> Option<usize> {
        // MRe is command 0 and MP command 1 of a set that writes lines back.
        let unfinished = |s: &Set| !s.writes_back.is_empty() && s.done <= 1 && test(&s.writes_back);
        self.active.iter().copied().rfind(|&s| unfinished(&self.sets[s]))
    }

    fn admit(&mut self) {
        loop {
            let slots = self.active.iter().filter(|&&s| self.sets[s].slotted).count();
            if slots >= self.config.depth {
                return;
            }
            if let Some(&set) = self.active.iter().find(|&&s| !self.sets[s].slotted) {
                self.sets[set].slotted = true;
                self.enqueue_unless_delayed(set);
                continue;
            }
            let Some(&req) = self.requests.first() else { return };
            let pages = self.trace[req].pages;
            let first = self.sets.len();
            while self.translated < pages && self.translate(req, self.translated) {
                self.translated += 1;
            }
            if self.sets.len() > first {
                self.add_fot(req, first);
                self.propagate(req, first);
                self.rekey();
            }
            if self.translated == pages {
                self.requests.remove(0);
                self.translated = 0;
                self.counted.clear();
            } else if self.sets.len() == first {
                return;
            }
        }
    }

    /// Adds the sets from number `first` on, all of request `req`, to the request's FOT.
    fn add_fot(&mut self, req: usize, first: usize) {
        for set in first..self.sets.len() {
            for cmd in &self.sets[set].cmds {
                self.run.fot[req] += self.duration(cmd);
            }
            for (on, cmd) in self.delays(set) {
                for stage in self.sets[on].done..=self.stage(on, cmd) {
                    // Once per request, and a running command in full.
                    if !self.counted.contains(&(on, stage)) {
                        self.counted.push((on, stage));
                        self.run.fot[req] += self.duration(self.sets[on].cmds[stage]);
                    }
                }
            }
        }
    }

    /// Tells all sets that delay the sets from number `first` on, all of request `req`.
    fn propagate(&mut self, req: usize, first: usize) {
        let rank = (self.trace[req].write, self.run.fot[req]);
        for set in first..self.sets.len() {
            for (on, cmd) in self.delays(set) {
                let x = &mut self.sets[on];
                let best = if cmd == "MRf" { &mut x.clf } else { &mut x.dle };
                *best = rank.min(*best);
            }
        }
    }

    /// The queue and the key of the current command of `set`.
    fn place(&self, set: usize) -> (usize, u64) {
        let s = &self.sets[set];
        let cmd = s.cmds[s.done];
        let Req { write, pages, .. } = self.trace[s.req];
        let own = (write, self.run.fot[s.req]);
        let (second, key) = match (self.policy, cmd) {
            (Policy::Fifo, _) => (false, 0),
            (Policy::Rcf, _) => (is_program(cmd), 0),
            (Policy::Size, _) => (is_program(cmd), pages),
            (Policy::Rrf, _) => (write, 0),
            (Policy::Fot, _) | (Policy::Drs, "DR" | "DP") => own,
            (Policy::Drs, "MRf") => own.min(s.clf),
            (Policy::Drs, _) => own.min(s.clf).min(s.dle),
        };
        (usize::from(second), key)
    }

    fn enqueue_unless_delayed(&mut self, set: usize) {
        if !self.is_delayed(set) {
            self.sets[set].issued = true;
            self.insert(set, None);
        }
    }

    /// Inserts the current command of `set`, anew if it was taken from the queue for that.
    fn insert(&mut self, set: usize, old: Option<Queued>) {
        let (queue, key) = self.place(set);
        let limit = match (self.policy, queue) {
            (Policy::Rrf | Policy::Fot | Policy::Drs, 1) => Some(self.config.wrq_us),
            (Policy::Fot | Policy::Drs, 0) => Some(self.config.rrq_us),
            _ => None,
        };
        // The limit counts from the first insertion, also that of the new queue of a re-keyed
        // command, which keeps an earlier deadline.
        let (requeue, first) = (old.is_some(), old.as_ref().map_or(self.t, |old| old.first));
        let old_deadline = old.and_then(|old| old.deadline);
        let deadline = old_deadline.into_iter().chain(limit.map(|limit| first + limit)).min();
        let number = self.insertions;
        self.insertions += 1;
        self.queued.push(Queued { set, queue, key, number, first, deadline });
        let Set { req, page, ref cmds, done, .. } = self.sets[set];
        let (t, cmd) = (self.t, cmds[done]);
        self.run.queue_events.push(QueueEvent { t, requeue, req, page, cmd, queue, key });
    }

    /// Inserts again every queued command whose queue or key has changed.
    fn rekey(&mut self) {
        for set in self.active.clone() {
            let changed = |q: &Queued| q.set == set && (q.queue, q.key) != self.place(set);
            if let Some(i) = self.queued.iter().position(changed) {
                let old = self.queued.remove(i);
                self.insert(set, Some(old));
            }
        }
    }

    fn dispatch(&mut self) {
        let all = self.queued.iter().enumerate();
        let expired = all.clone().filter(|(_, q)| q.deadline.is_some_and(|d| d <= self.t));
        let expired = expired.min_by_key(|(_, q)| (q.deadline, q.queue, q.number));
        let first = || all.min_by_key(|(_, q)| (q.queue, q.key, q.number));
        let Some((i, _)) = expired.or_else(first) else { return };
        let Queued { set, queue, .. } = self.queued.remove(i);
        let Set { req, page, ref cmds, done, .. } = self.sets[set];
        let cmd = cmds[done];
        let (start, end) = (self.t, self.t + self.duration(cmd));
        self.running = Some((set, end));
        self.run.schedule.push(Exec { start, end, req, page, cmd, queue });
    }

    fn complete(&mut self) {
        let (set, _) = self.running.take().expect("a command is running");
        let s = &mut self.sets[set];
        let (req, cmd) = (s.req, s.cmds[s.done]);
        s.done += 1;
        for line in &mut self.lines {
            match cmd {
                "MP" if line.clean == Some(set) => line.clean = None,
                "MRf" if line.fetch == Some(set) => line.fetch = None,
                _ => {}
            }
        }
        if s.done == s.cmds.len() {
            self.active.retain(|&a| a != set);
            self.run.completion[req] = self.t; // the last set to finish wins
        } else {
            s.issued = false;
            self.enqueue_unless_delayed(set);
        }
        // Woken sets follow the completed set's own next command, in ascending set number.
        for other in self.active.clone() {
            if self.sets[other].slotted && !self.sets[other].issued {
                self.enqueue_unless_delayed(other);
            }
        }
    }
}
