//! Reads first: the oldest read that waits for no other request starts, unless the oldest request
//! has waited long enough; where there is none, the oldest request.

use flashyard::core::host::{HostAnswer, HostPolicy, HostView};
use flashyard::core::key::Kind;
use flashyard::core::request::RequestOp;
use flashyard::core::units::Span;

flashyard::core::keys! {
    /// Keys of `[host.reads-first]`.
    pub struct ReadsFirst {
        /// A request that has waited this long is not overtaken any more; 0: never.
        limit_ms: Span = Span::from_ms(20) => {
            kind: Kind::millis(0, 10_000_000_000),
            source: "assumed: a pause that nobody notices",
            flip: "0",
            with: &["host.policy=reads-first", "host.dispatch_width=1"],
        },
    }
}

impl HostPolicy for ReadsFirst {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if view.waiting() == 0 {
            return HostAnswer::Wait;
        }
        let waited = view.now().since(view.entered(0));
        if !self.limit_ms.is_zero() && waited >= self.limit_ms {
            return HostAnswer::Start(0);
        }
        let reads = |place: &usize| view.request(*place).op == RequestOp::Read;
        let free = |place: &usize| reads(place) && !view.conflicts(*place);
        HostAnswer::Start((0..view.waiting()).find(free).unwrap_or(0))
    }
}
