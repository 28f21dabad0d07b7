//! A user's own host policy that answers what cannot be done ends the run with a message.

use flashyard_core::host::{HostAnswer, HostPolicy, HostView};
use flashyard_core::key::Kind;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::{Device, RunError, SimError};
use flashyard_sim::own::Parts;
use std::convert::Infallible;
use std::panic::catch_unwind;
use std::sync::Mutex;

flashyard_core::keys! {
    /// A policy that is wrong.
    pub struct Wrong {
        /// What it answers.
        how: u64 = 0 => {
            kind: Kind::count("", 0, 99), source: "assumed", flip: "1", with: &[],
        },
    }
}

impl HostPolicy for Wrong {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if view.waiting() == 0 {
            return HostAnswer::Wait;
        }
        match self.how {
            1 => HostAnswer::Start(7),
            2 | 7 => HostAnswer::StartPage { place: 0, page: 3 },
            3 => HostAnswer::StartPage { place: 9, page: 0 },
            4 => HostAnswer::Flush(0),
            5 => HostAnswer::Flush(1 << 30),
            // The first page once, then the same again.
            6 => HostAnswer::StartPage { place: 0, page: 0 },
            9 if view.waiting() == 2 => HostAnswer::Start(1),
            0 | 9 => HostAnswer::Wait,
            10 => view.oldest_line().map_or(HostAnswer::Start(0), |it| HostAnswer::Flush(it.line)),
            // The first page once, then all of it.
            _ if view.next_page(0, 0) == Some(0) => HostAnswer::StartPage { place: 0, page: 0 },
            _ => HostAnswer::Start(0),
        }
    }

    fn by_pages(&self) -> bool {
        ![7, 10].contains(&self.how)
    }

    fn in_order(&self) -> bool {
        [0, 9].contains(&self.how)
    }
}

fn run(how: u64, flags: Flags) -> Result<(), SimError> {
    let parts = Parts::new().host_policy("wrong", "", |keys: Wrong| keys).share();
    let mut keys = DeviceKeys::with_own(parts);
    let mut problems = Vec::new();
    let how = format!("host.wrong.how={how}");
    for setting in ["host.policy=wrong", &how, "map.store=resident", "buffer.bytes=65536"] {
        apply_setting("--set", setting, &mut keys, &mut problems);
    }
    assert_eq!(problems, []);
    let mut device = Device::new(&Settings::new(keys).unwrap());
    device.check();
    let (arrival, op, stream) = (Time::ZERO, RequestOp::Write, 0);
    let request = Request::new(op, 0, 16).at(arrival).of_stream(stream).with(flags);
    let mut requests = [request, request].into_iter();
    device.run(|| Ok::<_, Infallible>(requests.next())).map(|_| ()).map_err(|error| match error {
        RunError::Sim(error) => error,
        RunError::Workload(never) => match never {},
    })
}

#[test]
fn answers_that_cannot_be_done_say_so() {
    for (how, flags, why) in [
        (1, Flags::NONE, "starts request 7 of "),
        (2, Flags::NONE, "starts page 3 of request 0, which has 2"),
        (3, Flags::NONE, "starts request 9 of "),
        (4, Flags::NONE, "flushes line 0, which is not dirty"),
        (5, Flags::NONE, "flushes line 1073741824, which is not dirty"),
        (6, Flags::PREFLUSH, "which only starts whole"),
        (6, Flags::NONE, "starts page 0 of request 0, which has 2, or again"),
        (7, Flags::NONE, "is not `by_pages`"),
        (9, Flags::NONE, "is `in_order`, but starts request 1, not 0"),
        (10, Flags::NONE, "is not `by_pages`"),
        (8, Flags::NONE, "starts request 0, of which it has started 1 pages"),
    ] {
        let panic = catch_unwind(|| run(how, flags)).expect_err("such an answer is wrong");
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or(panic.downcast_ref::<&str>().map(ToString::to_string));
        let said = said.expect("a message");
        assert!(said.starts_with("the host policy ") && said.contains(why), "{how}: {said}");
    }
}

#[test]
fn a_policy_that_waits_for_ever_ends_the_run() {
    let error = run(0, Flags::NONE).unwrap_err();
    assert_eq!(error, SimError::Stuck { order: 0, requests: 2 });
    assert!(error.to_string().contains("a host policy must not wait for ever"), "{error}");
}

flashyard_core::keys! {
    /// In order; notes of each read whether the buffer holds it.
    pub struct Probe {}
}

/// First sector, sectors, whether the buffer holds all that is read.
static SEEN: Mutex<Vec<(u64, u32, bool)>> = Mutex::new(Vec::new());

impl HostPolicy for Probe {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if view.waiting() == 0 {
            return HostAnswer::Wait;
        }
        let request = view.request(0);
        if request.op == RequestOp::Read {
            let held = view.is_buffered(0);
            assert_eq!(held, view.is_page_buffered(0, 0));
            SEEN.lock().unwrap().push((request.first_sector, request.sectors, held));
        }
        HostAnswer::Start(0)
    }
}

/// Unit 0 is on flash when one sector of it is written, unit 5 is not; a page has 8 sectors.
#[test]
fn a_part_of_a_unit_serves_no_read_of_more_unless_flash_has_nothing() {
    let parts = Parts::new().host_policy("probe", "", |keys: Probe| keys).share();
    let mut keys = DeviceKeys::with_own(parts);
    let mut problems = Vec::new();
    for setting in [
        "host.policy=probe",
        "map.store=resident",
        "buffer.bytes=65536",
        "buffer.after_flush=free",
        "ftl.partial_write=bitmap",
    ] {
        apply_setting("--set", setting, &mut keys, &mut problems);
    }
    assert_eq!(problems, []);
    let mut device = Device::new(&Settings::new(keys).unwrap());
    device.check();
    let (write, read) = (RequestOp::Write, RequestOp::Read);
    let mut requests = [
        (0, write, 0, 8),
        (10_000, write, 0, 1),
        (10_000, write, 40, 1),
        (10_050, read, 0, 1),
        (10_050, read, 0, 8),
        (10_050, read, 40, 8),
        (10_050, read, 48, 8),
    ]
    .map(|(us, op, first_sector, sectors)| {
        let arrival = Time::ZERO + Span::from_ns(us * 1_000);
        let flags = if us == 0 { Flags::FUA } else { Flags::NONE };
        Request::new(op, first_sector, sectors).at(arrival).with(flags)
    })
    .into_iter();
    device.run(|| Ok::<_, Infallible>(requests.next())).unwrap();
    let mut seen = SEEN.lock().unwrap().clone();
    seen.dedup();
    assert_eq!(seen, [(0, 1, true), (0, 8, false), (40, 8, true), (48, 8, false)]);
}
