//! Command policies: which of the waiting commands a die takes next. One file each.
//!
//! A policy places a command in one of its queues under a key, with a deadline or without; the
//! [queue](crate::queue) then serves queue 0 before queue 1 and so on, equal keys in the order of
//! insertion. A policy may keep a state in lent memory, and be told what becomes of commands; it
//! may also leave the choice to *ranks of streams*: then each stream has a queue of its own at each
//! die. To add one, write a file beside these and name it in the `registry!` below.

mod interface;

pub use interface::{
    CommandEvent, CommandPolicy, CommandView, DeadlineFrom, Happened, Placement, RequestView,
};

use crate::command::StreamId;
use crate::graph::Reach;
use crate::key::Keys;
use crate::units::Time;

crate::choice! {
    /// How often FOT counts a delaying command that several sets of a request wait for.
    pub enum SharedDelays {
        /// Once.
        PerRequest = "per_request",
        /// Once for each set that waits.
        PerSet = "per_set",
    }
}

crate::choice! {
    /// How FOT adds up commands of several dies.
    pub enum FotSpan {
        /// As if one die ran them all (the published sum).
        Sum = "sum",
        /// The sum of the die with the most work.
        LongestDie = "longest_die",
    }
}

crate::keys! {
    /// How the flash operation time (FOT) of a request is counted.
    pub struct FotKeys {
        /// Whether a delaying command counts once per request or once per waiting set.
        shared_delays: SharedDelays = SharedDelays::PerRequest => {
            kind: crate::key::Kind::Choice(SharedDelays::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; once per request ranks requests by the work they cause",
            flip: "per_set",
            with: &["policy.command=fot"],
        },
        /// Whether delay relations are followed transitively, for FOT and for inherited ranks.
        transitive: bool = true => {
            kind: crate::key::Kind::Bool,
            source: "Lee et al., IEEE Access 2021, Fig. 7: directly or indirectly related",
            flip: "false",
            with: &["policy.command=fot", "map.entries_per_line=1"],
        },
        /// How the times of commands on several dies add up.
        span: FotSpan = FotSpan::Sum => {
            kind: crate::key::Kind::Choice(FotSpan::WORDS),
            source: "the published device has one die, where both agree",
            flip: "longest_die",
            with: &["policy.command=fot", "geometry.channels=2", "geometry.ways=2"],
        },
    }
}

impl FotKeys {
    /// How far delay relations are followed.
    pub const fn reach(&self) -> Reach {
        if self.transitive { Reach::Transitive } else { Reach::Direct }
    }
}

/// Does something with every policy of the registry.
pub trait PolicyVisitor {
    /// One of them, by the type of its keys, and its name.
    fn visit<P: CommandPolicy + Keys + Send + Sync + 'static>(&mut self, name: &'static str);
}

/// The registry: one line a policy. Whatever lists policies or their keys is derived from it.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $name:literal,)+) => {
        $(pub mod $module;)+

        crate::parts! {
            PolicyName AnyPolicy PolicyKeys {
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }

        /// Shows every policy to a visitor, in the order of the registry.
        pub fn visit_all(visitor: &mut impl PolicyVisitor) {
            $(visitor.visit::<$module::$keys>($name);)+
        }

        impl CommandPolicy for AnyPolicy {
            fn queue_names(&self) -> &'static [&'static str] {
                match self { $(Self::$variant(policy) => policy.queue_names(),)+ }
            }
            fn place(&self, command: &CommandView, now: Time) -> Placement {
                match self { $(Self::$variant(policy) => policy.place(command, now),)+ }
            }
            fn reads_fot(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.reads_fot(),)+ }
            }
            fn queues_before_urgent_gc(&self) -> u8 {
                match self { $(Self::$variant(policy) => policy.queues_before_urgent_gc(),)+ }
            }
            fn inherits(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.inherits(),)+ }
            }
            fn rekeys(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.rekeys(),)+ }
            }
            fn has_state(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.has_state(),)+ }
            }
            fn state_words(&self, dies: usize, streams: usize) -> usize {
                match self { $(Self::$variant(policy) => policy.state_words(dies, streams),)+ }
            }
            fn command_event(&self, state: &mut [u64], event: &CommandEvent) {
                match self { $(Self::$variant(policy) => policy.command_event(state, event),)+ }
            }
            fn ranks_streams(&self) -> bool {
                match self { $(Self::$variant(policy) => policy.ranks_streams(),)+ }
            }
            fn stream_rank(&self, state: &[u64], stream: StreamId) -> u128 {
                match self { $(Self::$variant(policy) => policy.stream_rank(state, stream),)+ }
            }
        }
    };
}

registry! {
    /// First in, first out.
    Fifo(fifo::FifoKeys) = "fifo",
    /// Read-first: reads before programs, maps and data alike (RCF: read command first).
    Rcf(rcf::RcfKeys) = "rcf",
    /// Reads before programs, small requests first.
    Size(size::SizeKeys) = "size",
    /// Commands of reads before commands of writes (RRF: read request first).
    Rrf(rrf::RrfKeys) = "rrf",
    /// As rrf, but requests with a short flash operation time go first.
    Fot(fot::FotPolicyKeys) = "fot",
    /// As fot, but a command has the best rank of all requests that need it (DRS: delay relations).
    Drs(drs::DrsKeys) = "drs",
    /// The map before urgent garbage collection before reads before programs before the rest.
    Priority(priority::PriorityKeys) = "priority",
    /// Reads before writes, up to a number of reads; commands that have waited too long go before
    /// both.
    Deadline(deadline::DeadlineKeys) = "deadline",
    /// Fair queueing: dies are shared between streams by weight, the host's and the device's own.
    Fair(fair::FairKeys) = "fair",
}
