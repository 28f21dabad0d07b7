//! Short first: commands of small requests go first, reads and writes alike, until one of a larger
//! request has waited long enough.

use flashyard::core::key::Kind;
use flashyard::core::policy::{CommandPolicy, CommandView, Placement};
use flashyard::core::units::{Span, Time};

flashyard::core::keys! {
    /// Keys of `[policy.short-first]`.
    pub struct ShortFirst {
        /// A command that has waited this long goes first, whatever its size; 0: never.
        limit_ms: Span = Span::from_ms(20) => {
            kind: Kind::millis(0, 10_000_000_000),
            source: "assumed: a pause that nobody notices",
            flip: "0",
            with: &["policy.command=short-first"],
        },
    }
}

impl CommandPolicy for ShortFirst {
    fn queue_names(&self) -> &'static [&'static str] {
        &["ALL"]
    }

    /// Flash operation times would be counted for nothing.
    fn reads_fot(&self) -> bool {
        false
    }

    fn place(&self, command: &CommandView, now: Time) -> Placement {
        // The device's own work goes last.
        let pages = command.request.map_or(u32::MAX, |request| request.pages);
        let deadline = (!self.limit_ms.is_zero()).then(|| now + self.limit_ms);
        Placement { queue: 0, key: pages.into(), deadline }
    }
}
