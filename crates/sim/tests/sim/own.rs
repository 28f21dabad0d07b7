//! A user's own parts: every built-in part, given as an own one, must do what it does as itself;
//! and lists that cannot be are refused.

use crate::common::{Random, record, request, restored, saved, seeds, try_record};
use crate::generators::devices::{self, case};
use flashyard_core::bus::channel::{FixedTimes, Sequencer};
use flashyard_core::bus::policy::{self as bus_policy, BusPolicy, BusPolicyVisitor, ChannelView};
use flashyard_core::bus::request::{BusClass, BusRequest};
use flashyard_core::host::{self, HostPolicy, HostPolicyVisitor};
use flashyard_core::key::{Keys, NoKeys};
use flashyard_core::policy::{
    self, AnyPolicy, CommandPolicy, CommandView, Placement, PolicyVisitor,
};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{BlockId, Span, Time};
use flashyard_sim::config::{DeviceKeys, Sections, Settings, apply_setting, show_value};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::initial::Cleaning;
use flashyard_sim::own::{Family, MAX_KEYS, OwnParts, Parts};
use flashyard_sim::parts::blocks::FullBlocks;
use flashyard_sim::parts::log::{self, Scheme, SchemeVisitor};
use flashyard_sim::parts::victim::{self, Looks, VictimRule, VictimVisitor};
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;
use std::panic::catch_unwind;
use std::sync::Arc;

/// A buffer of two ports, and a queue with an order to choose.
const BUFFERED: [&str; 8] = [
    "map.store=resident",
    "buffer.bytes=65536",
    "buffer.ports=read_and_write",
    "buffer.banks=4",
    "buffer.write_ns=100000",
    "buffer.read_ns=15000",
    "buffer.eviction=full",
    "interface.fetch_depth=32",
];

/// Channels that carry bus requests, and take so long that they wait for one another.
const BUS_REQUESTS: [&str; 4] = [
    "bus.precision=requests",
    "geometry.ways=4",
    "channel.command_ns=300",
    "channel.ps_per_byte=25000",
];

fn keys(own: &OwnParts, assignments: &[String]) -> DeviceKeys {
    let mut keys = DeviceKeys::with_own(own.clone());
    let mut problems = Vec::new();
    for assignment in assignments {
        apply_setting("--set", assignment, &mut keys, &mut problems);
    }
    assert_eq!(problems, []);
    keys
}

/// A small full device that collects garbage, with map misses.
fn base() -> Vec<String> {
    let keys = [
        "state.initial=aged",
        "geometry.channels=2",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=60",
        "map.cache_bytes=256",
        "map.entries_per_page=64",
        "queue.depth=16",
    ];
    keys.map(String::from).to_vec()
}

fn requests(settings: &Settings) -> Vec<Request> {
    let pages = settings.capacity_sectors() / 8 - 4;
    let mut random = Random(5);
    (0..600)
        .map(|at| {
            let op = random.pick(&[RequestOp::Read, RequestOp::Write]);
            let length = random.pick(&[1, 1, 4]);
            request(at / 4 * 900, op, random.below(pages), length)
        })
        .collect()
}

/// Every key of a part at its other value, which its declaration states.
fn flips(section: &str) -> Vec<(String, String)> {
    let device = DeviceKeys::default();
    let mut all = device.sections().into_iter();
    let (_, keys, _) = all.find(|(known, ..)| known == section).expect("a section");
    keys.iter().map(|key| (key.name.to_string(), key.flip.to_string())).collect()
}

/// Checks every part of a family: given as an own one, under another name, it does the same. What
/// each told is kept.
#[derive(Default)]
struct Each(Vec<String>);

impl Each {
    #[track_caller]
    fn check(&mut self, family: Family, name: &str, make: impl FnOnce(Parts, String) -> Parts) {
        let own = make(Parts::new(), format!("own-{name}")).share();
        self.0.push(check_same(&own, family, name));
    }

    /// Not all of them do the same as one another.
    #[track_caller]
    fn differ(&self) {
        assert!(self.0.iter().skip(1).any(|other| *other != self.0[0]), "nothing differs here");
    }
}

impl PolicyVisitor for Each {
    fn visit<P: CommandPolicy + Keys + Send + Sync + 'static>(&mut self, name: &'static str) {
        self.check(Family::CommandPolicy, name, |parts, own| {
            parts.command_policy(own, "", |keys: P| keys)
        });
    }
}

impl HostPolicyVisitor for Each {
    fn visit<P: HostPolicy + Keys + Send + Sync + 'static>(&mut self, name: &'static str) {
        self.check(Family::HostPolicy, name, |parts, own| {
            parts.host_policy(own, "", |keys: P| keys)
        });
    }
}

impl BusPolicyVisitor for Each {
    fn visit<P: BusPolicy + Keys + Send + Sync + 'static>(&mut self, name: &'static str) {
        // It is a loop of its own, which asks no policy.
        if name != "framework" {
            self.check(Family::BusPolicy, name, |parts, own| {
                parts.bus_policy(own, "", |keys: P| keys)
            });
        }
    }
}

impl VictimVisitor for Each {
    fn visit<P: VictimRule + Keys + Send + Sync + 'static>(&mut self, name: &'static str) {
        self.check(Family::VictimRule, name, |parts, own| {
            parts.victim_rule(own, "", |keys: P| keys)
        });
    }
}

impl SchemeVisitor for Each {
    fn visit<P: Scheme<Layer: 'static> + Keys + 'static>(&mut self, name: &'static str) {
        self.check(Family::Scheme, name, |parts, own| parts.scheme(own, "", |keys: P| keys));
    }
}

/// Runs a built-in part, and the same part as an own one. All keys are at their defaults first,
/// then one key after the other has another value. Returns the result at defaults.
#[track_caller]
fn check_same(own: &OwnParts, family: Family, name: &str) -> String {
    let (section, key) = family.chooser();
    let told = |name: &str, flip: Option<&(String, String)>| {
        let mut set = base();
        if family == Family::Scheme {
            set.extend(["map.store=resident", "nand.program_order=any"].map(String::from));
        }
        if family == Family::HostPolicy {
            set.extend(BUFFERED.map(String::from));
        }
        if family == Family::BusPolicy {
            set.extend(BUS_REQUESTS.map(String::from));
        }
        set.push(format!("{section}.{key}={name}"));
        set.extend(flip.map(|(key, value)| format!("{section}.{name}.{key}={value}")));
        let settings = match Settings::new(keys(own, &set)) {
            Ok(settings) => settings,
            // A scheme cannot be on every device.
            Err(why) => return why.to_string(),
        };
        let (report, recorded) = record(&settings, &[], &requests(&settings));
        let erases = report.flash.phases["foreground"]["erase"];
        assert!(erases > 10, "{name}: only {erases} erases");
        format!("{report:?} {recorded:?}")
    };
    let own_name = format!("own-{name}");
    let at_defaults = told(name, None);
    assert!(at_defaults.contains("latency_ns"), "{name}: {at_defaults}");
    assert!(at_defaults == told(&own_name, None), "{section}.{key}={name}");
    for flip in flips(&format!("{section}.{name}")) {
        assert!(told(name, Some(&flip)) == told(&own_name, Some(&flip)), "{name}: {flip:?}");
    }
    at_defaults
}

#[test]
fn built_in_host_policies_do_the_same_as_own_ones() {
    let mut each = Each::default();
    host::visit_all(&mut each);
    each.differ();
}

#[test]
fn built_in_bus_policies_do_the_same_as_own_ones() {
    let mut each = Each::default();
    bus_policy::visit_all(&mut each);
    each.differ();
}

#[test]
fn built_in_policies_do_the_same_as_own_ones() {
    let mut each = Each::default();
    policy::visit_all(&mut each);
    each.differ();
}

#[test]
fn built_in_rules_do_the_same_as_own_ones() {
    let mut each = Each::default();
    victim::visit_all(&mut each);
    each.differ();
}

#[test]
fn built_in_schemes_do_the_same_as_own_ones() {
    let mut each = Each::default();
    log::visit_all(&mut each);
    each.differ();
}

/// The lowest die first, whatever it wants to send.
struct LowestDie;

impl BusPolicy for LowestDie {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.candidates.iter().position(Option::is_some)
    }
}

/// Times of a kind of controller: 200 ns a request, a byte in `byte_ns`.
#[derive(Clone, Copy)]
struct Bytes {
    byte_ns: u64,
}

impl Sequencer for Bytes {
    fn duration(&mut self, request: &BusRequest) -> Span {
        Span::from_ns(200 + self.byte_ns * u64::from(request.bytes))
    }
}

/// The lowest die first, with the times of the sequencer.
fn lowest_die(byte_ns: u64) -> OwnParts {
    let parts = Parts::new().bus_policy("lowest-die", "", |_: NoKeys| LowestDie);
    parts.sequencer("bytes", "", move |_: NoKeys| Bytes { byte_ns }).share()
}

#[test]
fn random_devices_under_an_own_bus_policy_and_sequencer_keep_every_rule() {
    let (own, mut ran) = (lowest_die(20), 0);
    for seed in seeds(0..45) {
        let family = [devices::Family::Any, devices::Family::LogBlocks, devices::Family::Cached]
            [(seed % 3) as usize];
        let (settings, requests) = case(family, seed + 120_000);
        // The same keys, of a device that knows the own parts.
        let mut with = DeviceKeys::with_own(own.clone());
        for (section, keys, _) in settings.keys.sections() {
            for key in keys {
                let value = settings.keys.get(&section, key.name).expect("a listed key");
                assert!(with.set(&section, key.name, value), "{section}.{}", key.name);
            }
        }
        let mut problems = Vec::new();
        let set = ["bus.precision=requests", "bus.timing=bytes", "channel.arbitration=lowest-die"];
        for assignment in set {
            apply_setting("--set", assignment, &mut with, &mut problems);
        }
        assert_eq!(problems, []);
        let settings =
            Settings::new(with.clone()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        if let Ok((_, run)) = result.unwrap_or_else(|_| panic!("seed {seed}: {with:#?}")) {
            assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
            ran += 1;
        }
    }
    assert!(ran > 12, "{ran} devices had room");
}

/// The data of four dies leave in the order of the dies, behind those that were ready first; each
/// request takes as long as the sequencer says.
#[test]
fn an_own_bus_policy_and_sequencer_decide_who_sends_and_for_how_long() {
    let device = |own: &_, policy: &str, timing: &str| {
        let more = [format!("channel.arbitration={policy}"), format!("bus.timing={timing}")];
        let set: Vec<_> = ["map.store=resident", "bus.poll_before_data=false"]
            .into_iter()
            .chain(BUS_REQUESTS)
            .map(String::from)
            .chain(more)
            .collect();
        Settings::new(keys(own, &set)).unwrap()
    };
    let reads = [0, 1, 2, 3].map(|us| request(us, RequestOp::Read, 3 - us, 1));
    let ends = |settings: &Settings| {
        let (_, run) = record(settings, &[], &reads);
        run.requests.iter().map(|done| done.completion.as_ns()).collect::<Vec<_>>()
    };
    let own = lowest_die(10);
    // The last die is the first to be activated, and alone when its data are ready. The data of
    // the others follow one after the other.
    let data = 200 + 40_960;
    let first = 200 + 60_000 + data;
    assert_eq!(ends(&device(&own, "lowest-die", "bytes")), expected(first, data, [0, 3, 2, 1]));
    assert_eq!(ends(&device(&own, "in_order", "bytes")), expected(first, data, [0, 1, 2, 3]));
    // Times by the keys of the channel, as a sequencer of one's own.
    let by_keys = Parts::new().sequencer("mine", "", |_: NoKeys| FixedTimes {
        kinds: flashyard_core::bus::request::BusKind::ALL.map(|kind| match kind.class() {
            BusClass::Activation => Span::from_ns(300),
            _ => Span::ZERO,
        }),
        ps_per_byte: 25_000,
    });
    let by_keys = by_keys.share();
    assert_eq!(
        ends(&device(&by_keys, "in_order", "mine")),
        ends(&device(&by_keys, "in_order", "keys"))
    );
}

/// The ends of reads by their places in the order of their data.
fn expected(first: u64, data: u64, places: [u64; 4]) -> Vec<u64> {
    places.map(|place| first + place * data).to_vec()
}

/// Draws two blocks, one of them by number. Of these and the block that was filled first, it takes
/// the one whose age outweighs its erases.
#[derive(Debug)]
struct Mixed;

impl VictimRule for Mixed {
    fn looks(&self) -> Looks {
        Looks::AGE | Looks::RANDOM | Looks::NUMBERS | Looks::ORDER
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        let drawn = [full.draw(), full.draw_by_number(), full.oldest()];
        full.examine(2);
        let drawn = drawn.into_iter().flatten().filter(|block| full.gains(*block));
        drawn.max_by_key(|block| full.age(*block) / (1 + u64::from(full.erases(*block))))
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Greedy
    }
}

#[test]
fn a_device_under_a_rule_of_several_lists_goes_on_when_it_was_saved() {
    let own = Parts::new().victim_rule("mixed", "", |_: NoKeys| Mixed).share();
    let with = |rule: &str| {
        let more = [format!("gc.policy={rule}")];
        Settings::new(keys(&own, &[&base()[..], &more].concat())).unwrap()
    };
    let run = |device: &mut Device| {
        device.check();
        let mut requests = requests(&with("mixed")).into_iter();
        let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
        let keys = StreamKeys::default();
        let stream = Stream { name: "all".to_string(), keys, source };
        device.run_phase(&PhaseKeys::default(), vec![stream]).unwrap();
    };
    let mut device = Device::new(&with("mixed"));
    run(&mut device);
    let bytes = saved(&device);
    let mut again = restored(&with("mixed"), &bytes).unwrap();
    run(&mut device);
    run(&mut again);
    assert!(saved(&device) == saved(&again), "the restored device goes on otherwise");
    let erases = |device: Device| device.finish().unwrap().flash.array_ops["erases"]["gc"];
    assert!(erases(device) > 50);
    // From another rule, and to one.
    let mut other = restored(&with("fifo"), &bytes).unwrap();
    run(&mut other);
    let mut back = restored(&with("mixed"), &saved(&other)).unwrap();
    run(&mut back);
    assert!(erases(back) > 10);
}

#[test]
fn a_saved_device_goes_on_under_an_own_rule_and_policy() {
    let own = Parts::new()
        .command_policy("own-fifo", "", |keys: policy::fifo::FifoKeys| keys)
        .victim_rule("own-rga", "", |keys: victim::rga::RgaKeys| keys)
        .share();
    let with = |assignments: &[&str]| {
        let more = assignments.iter().map(ToString::to_string);
        Settings::new(keys(&own, &base().into_iter().chain(more).collect::<Vec<_>>())).unwrap()
    };
    let bytes = saved(&Device::new(&with(&[])));
    let goes_on = |settings: &Settings| {
        let mut device = restored(settings, &bytes).unwrap();
        device.check();
        let mut requests = requests(settings).into_iter();
        let report = device.run(|| Ok::<_, Infallible>(requests.next()));
        format!("{:?}", report.expect("it runs"))
    };
    let built_in = goes_on(&with(&["policy.command=fifo", "gc.policy=rga"]));
    assert_eq!(goes_on(&with(&["policy.command=own-fifo", "gc.policy=own-rga"])), built_in);
    assert_ne!(goes_on(&with(&["policy.command=own-fifo"])), built_in);
}

/// The echo of keys reads back as the same keys.
#[test]
fn own_keys_are_echoed_as_they_were_set() {
    let own = Parts::new()
        .command_policy("own-drs", "", |keys: policy::drs::DrsKeys| AnyPolicy::Drs(keys))
        .command_policy("own-size", "", |keys: policy::size::SizeKeys| keys)
        .command_policy("own-deadline", "", |keys: policy::deadline::DeadlineKeys| keys)
        .share();
    let set = ["policy.command=own-deadline", "policy.own-size.sort_programs=false"];
    let set = keys(&own, &set.map(String::from));
    let mut again = DeviceKeys::with_own(own.clone());
    let mut problems = Vec::new();
    for (section, listed, _) in set.sections() {
        for key in listed {
            let value = show_value(&key.kind, set.get(&section, key.name).expect("it is listed"));
            let setting = format!("{section}.{}={value}", key.name);
            apply_setting("echo", &setting, &mut again, &mut problems);
        }
    }
    assert_eq!(problems, []);
    assert_eq!(again, set);
    assert_ne!(again, DeviceKeys::with_own(own));
    assert_eq!(DeviceKeys::with_own(OwnParts::default()), DeviceKeys::default());
}

#[derive(Debug)]
struct Same;

impl CommandPolicy for Same {
    fn queue_names(&self) -> &'static [&'static str] {
        &["ALL"]
    }
    fn place(&self, _: &CommandView, _: Time) -> Placement {
        Placement { queue: 0, key: 0, deadline: None }
    }
}

/// Names that are made while the program runs are words like any other: they are read, echoed,
/// listed and offered.
#[test]
fn names_may_be_made_at_run_time() {
    let names: Vec<String> = (0..3).map(|n| format!("p{n}")).collect();
    let add = |parts: Parts, name: &String| {
        parts.command_policy(name.as_str(), format!("Policy {name}."), |_: NoKeys| Same)
    };
    let own = names.iter().fold(Parts::new(), add).share();
    drop(names);
    let set = keys(&own, &["policy.command=p1".to_string()]);
    assert_eq!(set.shown("policy", "command").as_deref(), Some("p1"));
    let about = set.sections().into_iter().find(|(name, ..)| name == "policy.p2");
    assert_eq!(about.map(|(_, keys, doc)| (keys.len(), doc)), Some((0, "Policy p2.")));
    let settings = Settings::new(set).unwrap();
    record(&settings, &[], &requests(&settings));
    let mut problems = Vec::new();
    apply_setting("--set", "policy.command=p7", &mut DeviceKeys::with_own(own), &mut problems);
    let found = problems[0].to_string();
    assert!(found.contains("drs") && found.contains(", p0, p1, p2; did you mean p0?"), "{found}");
}

/// The list and the values in its functions are freed with the last owner. So is a part.
#[test]
fn parts_are_freed_with_what_knows_them() {
    struct Holds {
        _held: Arc<()>,
    }
    impl CommandPolicy for Holds {
        fn queue_names(&self) -> &'static [&'static str] {
            Same.queue_names()
        }
        fn place(&self, command: &CommandView, now: Time) -> Placement {
            Same.place(command, now)
        }
    }
    let (held, of_function) = (Arc::new(()), Arc::new(()));
    let (of_part, holds) = (Arc::clone(&held), Arc::clone(&of_function));
    let own = Parts::new().command_policy("holds", "", move |_: NoKeys| {
        let _ = &holds;
        Holds { _held: Arc::clone(&of_part) }
    });
    let own = own.share();
    let set = keys(&own, &[&base()[..], &["policy.command=holds".to_string()]].concat());
    drop(own);
    let settings = Settings::new(set.clone()).unwrap();
    drop(set);
    let device = Device::new(&settings);
    let twin = device.clone();
    drop(settings);
    assert!(Arc::strong_count(&held) > 2 && Arc::strong_count(&of_function) == 2);
    drop(device);
    assert_eq!(Arc::strong_count(&of_function), 2, "a device knows its parts");
    drop(twin);
    assert_eq!((Arc::strong_count(&held), Arc::strong_count(&of_function)), (1, 1));
}

#[track_caller]
fn check_refused(why: &str, make: impl FnOnce() -> Parts + std::panic::UnwindSafe) {
    let panic = catch_unwind(move || make().share()).expect_err("such a list is refused");
    let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    assert_eq!(said, why);
}

#[test]
fn lists_that_cannot_be_are_refused() {
    let add = |parts: Parts, name: &str| {
        parts.command_policy(name, "", |_: policy::deadline::DeadlineKeys| Same)
    };
    check_refused("policy.command: there is a drs already", || add(Parts::new(), "drs"));
    check_refused("policy.command: there is a mine already", || {
        add(add(Parts::new(), "mine"), "mine")
    });
    for name in ["", "two words", "a.b", "quo\"te"] {
        let why = format!("policy.command: {name:?} is no name; letters, digits, - and _ make one");
        check_refused(&why, || add(Parts::new(), name));
    }
    let each = policy::deadline::DeadlineKeys::KEYS.len();
    let names: Vec<String> = (0..=MAX_KEYS / each).map(|at| format!("n{at}")).collect();
    let (last, most) = (&names[names.len() - 1], names.len() * each);
    let why = format!("policy.{last}: own parts have {most} keys, at most {MAX_KEYS} fit");
    check_refused(&why, || names.iter().fold(Parts::new(), |parts, name| add(parts, name)));
    // One less fits, and one name may be in two families.
    let fits = names[1..].iter().fold(Parts::new(), |parts, name| add(parts, name));
    let fits = fits.victim_rule("n1", "", |keys: victim::greedy::GreedyKeys| keys).share();
    assert_eq!(fits.names(Family::CommandPolicy).count(), names.len() - 1);
    assert_eq!(fits.names(Family::VictimRule).collect::<Vec<_>>(), [("n1", "")]);
}
