//! The models against worked examples, and the rules that every one keeps.

use super::*;
use crate::bus::policy::AnyBusPolicy;
use crate::bus::policy::commands_first::CommandsFirstKeys;
use crate::bus::policy::decoupled::DecoupledKeys;
use crate::bus::policy::framework::FrameworkKeys;
use crate::bus::policy::in_order::InOrderKeys;
use crate::bus::policy::out_of_order::OutOfOrderKeys;
use crate::bus::policy::sequential::SequentialKeys;
use crate::command::Op;
use std::collections::{BTreeMap, VecDeque};
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// Units of time of the worked examples: activations and status 1, two chunks of 4, arrays 10, 30
/// and 60.
const UNITS: FixedTimes = FixedTimes {
    kinds: [
        Span::from_ns(1),
        Span::from_ns(1),
        Span::from_ns(4),
        Span::from_ns(1),
        Span::from_ns(1),
        Span::from_ns(4),
        Span::from_ns(1),
    ],
    ps_per_byte: 0,
};

/// The bus of the framework: what its microprograms take, 10 ns a byte.
const FRAMEWORK: FixedTimes = FixedTimes {
    kinds: [
        Span::from_ns(300),
        Span::from_ns(330),
        Span::from_ns(340),
        Span::from_ns(180),
        Span::from_ns(360),
        Span::from_ns(370),
        Span::from_ns(190),
    ],
    ps_per_byte: 10_000,
};

/// Operations by letter and chip, in the order of arrival, all at once.
fn operations(text: &str, real: bool) -> Vec<Operation> {
    let array = |op: Op| match (op, real) {
        (Op::Read, false) => Span::from_ns(10),
        (Op::Program, false) => Span::from_ns(30),
        (Op::Erase, false) => Span::from_ns(60),
        (Op::Read, true) => Span::from_us(75),
        (Op::Program, true) => Span::from_us(1_500),
        (Op::Erase, true) => Span::from_us(5_000),
    };
    let one = |(id, word): (usize, &str)| {
        let op = match word.as_bytes()[0] {
            b'R' => Op::Read,
            b'P' => Op::Program,
            _ => Op::Erase,
        };
        let chip = word[1..].parse().expect("a chip");
        let (page_bytes, chunk_bytes) = if real { (16_384, 4_096) } else { (2, 1) };
        let (id, array, polls) = (u32::try_from(id).expect("few"), array(op), real);
        let (stream, block, page, pages) = (0, 0, 0, 1);
        Operation {
            id,
            op,
            stream,
            since: Time::ZERO,
            chip,
            block,
            page,
            pages,
            page_bytes,
            chunk_bytes,
            array,
            polls,
        }
    };
    text.split(' ').enumerate().map(one).collect()
}

/// Runs operations that have all arrived. Each chip serves its own operations in order; if the
/// policy has a gate, all chips serve one common order.
fn run(policy: &impl BusPolicy, operations: &[Operation], mut times: FixedTimes) -> Vec<Sent> {
    let mut channel = Channel::new(0, [Lane::IDLE; 4], [None; 4]);
    let (mut order, mut now, mut sent) = (Order::default(), Time::ZERO, Vec::new());
    let mut waiting: VecDeque<Operation> = operations.iter().copied().collect();
    // When the array of each chip is done; when its operation has left the bus.
    let (mut arrays, mut over) = ([None; 4], [Time::ZERO; 4]);
    loop {
        let mut passed = [false; 4];
        waiting.retain(|operation| {
            let chip = operation.chip as usize;
            let free = channel.lane(chip).served().is_none() && over[chip] <= now;
            let takes = free && !passed[chip];
            if takes {
                channel.take(chip, operation, &mut order);
            } else if policy.gates_dispatch() {
                passed = [true; 4];
            } else {
                passed[chip] = true;
            }
            !takes
        });
        for (chip, array) in arrays.iter_mut().enumerate() {
            if array.is_some_and(|end| end <= now) {
                *array = None;
                channel.ready(chip, &mut order);
            }
        }
        if let Some(chip) = channel.pick(policy, &order, now) {
            let array = channel.lane(chip).served().expect("it is served").operation().array;
            let duration = times.duration(&channel.next_request(chip));
            let request = channel.send(chip, (now, duration), false, &mut order);
            if request.starts_array {
                arrays[chip] = Some(request.until + array);
            } else if request.request.kind == BusKind::Status && !request.completes {
                channel.ready(chip, &mut order);
            } else if request.completes {
                over[chip] = request.until;
            }
            sent.push(request);
        }
        let events = arrays.into_iter().flatten().chain(over).chain([channel.free()]);
        match events.filter(|at| *at > now).min() {
            None => break,
            Some(next) => now = next,
        }
    }
    assert_eq!((order.outstanding(), waiting.len()), (0, 0), "every operation completes");
    sent
}

fn log(sent: &[Sent]) -> String {
    let row = |sent: &Sent| {
        let Sent { request, from, until, .. } = sent;
        let (kind, operation) = (request.kind.name(), request.operation);
        format!("{operation}:{kind}@{}-{}", from.as_ns(), until.as_ns())
    };
    sent.iter().map(row).collect::<Vec<_>>().join(" ")
}

/// When each operation is complete.
fn ends(sent: &[Sent]) -> Vec<u64> {
    let ends = sent.iter().filter(|sent| sent.completes);
    let ends = ends.map(|sent| (sent.request.operation, sent.until.as_ns()));
    ends.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Three operations on one chip: no model has a choice.
#[test]
fn one_chip_serves_in_order_under_every_policy() {
    let expected = "0:RA@0-1 0:OD@11-15 0:OD@15-19 1:PP@19-20 1:ID@20-24 1:ID@24-28 1:PA@28-29 \
                    1:ST@59-60 2:EA@60-61 2:ST@121-122";
    let operations = operations("R0 P0 E0", false);
    assert_eq!(log(&run(&SequentialKeys {}, &operations, UNITS)), expected);
    assert_eq!(log(&run(&DecoupledKeys {}, &operations, UNITS)), expected);
    assert_eq!(log(&run(&OutOfOrderKeys {}, &operations, UNITS)), expected);
}

/// Worked example: an erase, programs and reads on four chips.
#[test]
fn models_differ_on_four_chips() {
    let operations = operations("E0 P1 R2 R3 R0 P2", false);
    assert_eq!(ends(&run(&SequentialKeys {}, &operations, UNITS)), [62, 103, 122, 141, 160, 201]);
    assert_eq!(
        log(&run(&DecoupledKeys {}, &operations, UNITS)),
        "0:EA@0-1 1:PP@1-2 1:ID@2-6 1:ID@6-10 1:PA@10-11 2:RA@11-12 3:RA@12-13 0:ST@61-62 \
         4:RA@62-63 1:ST@63-64 2:OD@64-68 2:OD@68-72 5:PP@72-73 5:ID@73-77 5:ID@77-81 5:PA@81-82 \
         3:OD@82-86 3:OD@86-90 4:OD@90-94 4:OD@94-98 5:ST@112-113"
    );
    assert_eq!(
        log(&run(&OutOfOrderKeys {}, &operations, UNITS)),
        "0:EA@0-1 1:PP@1-2 2:RA@2-3 3:RA@3-4 1:ID@4-8 1:ID@8-12 1:PA@12-13 2:OD@13-17 2:OD@17-21 \
         5:PP@21-22 5:ID@22-26 5:ID@26-30 5:PA@30-31 3:OD@31-35 3:OD@35-39 1:ST@43-44 0:ST@61-62 \
         4:RA@62-63 5:ST@63-64 4:OD@73-77 4:OD@77-81"
    );
}

/// Worked example: reads behind a program at the head of the line.
#[test]
fn a_program_at_the_head_of_the_line_holds_reads_back() {
    let operations = operations("P0 R1 R2 R3", false);
    assert_eq!(ends(&run(&SequentialKeys {}, &operations, UNITS)), [41, 60, 79, 98]);
    assert_eq!(ends(&run(&DecoupledKeys {}, &operations, UNITS)), [41, 49, 57, 65]);
    assert_eq!(ends(&run(&OutOfOrderKeys {}, &operations, UNITS)), [44, 21, 29, 37]);
}

/// Worked examples with the durations of the framework, a status request before the data of a read.
#[test]
fn models_with_real_durations() {
    let all = |text| {
        let operations = operations(text, true);
        [
            ends(&run(&SequentialKeys {}, &operations, FRAMEWORK)),
            ends(&run(&DecoupledKeys {}, &operations, FRAMEWORK)),
            ends(&run(&OutOfOrderKeys {}, &operations, FRAMEWORK)),
        ]
    };
    let alone = vec![240_870, 1_906_770, 6_907_260];
    assert_eq!(all("R0 P0 E0"), [alone.clone(), alone.clone(), alone]);
    assert_eq!(
        all("P0 R1 R2 R3"),
        [
            vec![1_665_900, 1_906_770, 2_147_640, 2_388_510],
            vec![1_665_900, 1_831_410, 1_996_920, 2_162_430],
            vec![1_667_550, 332_680, 498_000, 663_320],
        ]
    );
    assert_eq!(
        all("R0 R1 R2 R3"),
        [
            vec![240_870, 481_740, 722_610, 963_480],
            vec![240_870, 406_380, 571_890, 737_400],
            vec![241_440, 406_760, 572_080, 737_400],
        ]
    );
}

/// What must hold under every policy: one request on the bus, none to a busy chip, the grammar,
/// the order of each chip, each operation once.
#[test]
fn requests_of_random_operations_keep_the_rules() {
    let mut random = 3_u64;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (random >> 33) % bound
    };
    for _ in 0..500 {
        let words: Vec<String> = (0..=below(16))
            .map(|_| {
                format!(
                    "{}{}",
                    ["R", "P", "E"][usize::try_from(below(3)).expect("small")],
                    below(4)
                )
            })
            .collect();
        let operations = operations(&words.join(" "), false);
        let runs = [
            AnyBusPolicy::Sequential(SequentialKeys {}),
            AnyBusPolicy::Decoupled(DecoupledKeys {}),
            AnyBusPolicy::OutOfOrder(OutOfOrderKeys {}),
            AnyBusPolicy::CommandsFirst(CommandsFirstKeys {}),
            AnyBusPolicy::InOrder(InOrderKeys {}),
            AnyBusPolicy::Framework(FrameworkKeys::default()),
        ]
        .map(|policy| run(&policy, &operations, UNITS));
        for sent in &runs {
            let mut busy_until = [0; 4];
            let mut sequences = vec![String::new(); operations.len()];
            let mut last_of_chip = [0; 4];
            for pair in sent.windows(2) {
                assert!(pair[0].until <= pair[1].from, "one request is on the bus at a time");
            }
            for Sent { request, from, until, completes, .. } in sent {
                let (chip, number) = (request.chip as usize, request.operation as usize);
                assert!(from.as_ns() >= busy_until[chip], "chip {chip} is busy");
                if request.kind.makes_busy() {
                    busy_until[chip] = until.as_ns() + operations[number].array.as_ns();
                }
                assert!(number >= last_of_chip[chip], "chip {chip} serves in order");
                last_of_chip[chip] = number + usize::from(*completes);
                sequences[number] += request.kind.name();
            }
            for (operation, sequence) in operations.iter().zip(sequences) {
                let grammar = match operation.op {
                    Op::Erase => "EAST",
                    Op::Program => "PPIDIDPAST",
                    Op::Read => "RAODOD",
                };
                assert_eq!(sequence, grammar);
            }
        }
        let end = |sent: &[Sent]| sent.last().map_or(0, |sent| sent.until.as_ns());
        let [sequential, decoupled, ..] = runs.map(|sent| end(&sent));
        assert!(decoupled <= sequential, "{}", words.join(" "));
    }
}
