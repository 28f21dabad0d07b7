//! The functions of the border, called as a firmware in C calls them.

#![expect(unsafe_code, reason = "the functions of the border take pointers")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "every pointer is to a local variable")]

use flashyard_firmware::*;
use std::collections::VecDeque;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

const OPTIONS: FyOptions =
    FyOptions { poll_gap_ns: 1_000, waits: true, data_order: FyDataOrder::Oldest as u8 };

/// Memory to lend.
#[repr(C, align(16))]
struct Lent([u8; 8_192]);

impl Lent {
    fn new() -> Box<Self> {
        Box::new(Self([0xAA; 8_192]))
    }

    fn at(&mut self, offset: usize) -> *mut c_void {
        self.0[offset..].as_mut_ptr().cast()
    }
}

fn operation(id: u32, op: FyOp, chip: u32, stream: u16) -> FyOperation {
    let (pages, page_bytes, chunk_bytes) = (1, 16_384, 4_096);
    let array_ns = [75_000, 1_500_000, 5_000_000][op as usize];
    let op = op as u8;
    FyOperation {
        id,
        op,
        chip,
        stream,
        array_ns,
        pages,
        page_bytes,
        chunk_bytes,
        polls: true,
        ..FyOperation::default()
    }
}

/// A firmware with a controller that serves one request after the other.
struct Board {
    queues: *mut FyQueues,
    now: u64,
    wanted: VecDeque<FyOperation>,
    free: u64,
    done: Vec<u64>,
    responses: VecDeque<(u64, FyResponse)>,
    sent: Vec<FyRequest>,
    complete: Vec<u32>,
}

fn board<'a>(context: *mut c_void) -> &'a mut Board {
    unsafe { &mut *context.cast::<Board>() }
}

unsafe extern "C" fn now(context: *mut c_void) -> u64 {
    board(context).now
}

unsafe extern "C" fn take_in(context: *mut c_void) -> bool {
    let board = board(context);
    let mut any = false;
    while let Some(operation) = board.wanted.front()
        && unsafe { fy_queues_push(board.queues, operation) }
    {
        board.wanted.pop_front();
        any = true;
    }
    any
}

unsafe extern "C" fn next(context: *mut c_void, chip: u32, operation: *mut FyOperation) -> bool {
    unsafe { fy_queues_pop(board(context).queues, chip, operation) }
}

unsafe extern "C" fn send(context: *mut c_void, request: *const FyRequest) -> u64 {
    let (board, request) = (board(context), unsafe { *request });
    let is_data = request.kind == FyKind::DataIn as u8 || request.kind == FyKind::DataOut as u8;
    board.free = board.free.max(board.now) + if is_data { 41_000 } else { 200 };
    let (until, chip) = (board.free, request.chip as usize);
    let starts = [FyKind::EraseActivate, FyKind::ProgramActivate, FyKind::ReadActivate];
    if let Some(start) = starts.iter().find(|kind| **kind as u8 == request.kind) {
        let array = [5_000_000, 0, 0, 1_500_000, 75_000][*start as usize];
        assert!(board.done[chip] <= until, "chip {chip} is busy");
        board.done[chip] = until + array;
    } else if request.kind != FyKind::ProgramProlog as u8 {
        let ready = board.done[chip] <= until;
        let response = FyResponse { chip: request.chip, kind: request.kind, ready };
        board.responses.push_back((until, response));
    }
    board.sent.push(request);
    until
}

unsafe extern "C" fn response(context: *mut c_void, response: *mut FyResponse) -> bool {
    let board = board(context);
    let Some(&(at, first)) = board.responses.front() else { return false };
    if at > board.now {
        return false;
    }
    board.responses.pop_front();
    unsafe { *response = first };
    true
}

unsafe extern "C" fn complete(context: *mut c_void, operation: *const FyOperation) {
    let board = board(context);
    unsafe { fy_queues_completed(board.queues) };
    board.complete.push(unsafe { (*operation).id });
}

fn platform(board: &mut Board) -> FyPlatform {
    FyPlatform {
        context: (&raw mut *board).cast(),
        now: Some(now),
        take_in: Some(take_in),
        next: Some(next),
        send: Some(send),
        response: Some(response),
        complete: Some(complete),
    }
}

/// Runs operations until all are complete.
fn run(chips: u32, channels: u32, fair: *const FyFair, wanted: Vec<FyOperation>) -> Board {
    let (mut memory, mut more) = (Lent::new(), Lent::new());
    let bytes = fy_scheduler_size(chips, channels);
    let scheduler = unsafe { fy_scheduler_init(memory.at(0), bytes, chips, channels, &OPTIONS) };
    let queues = unsafe { fy_queues_init(more.at(0), more.0.len(), chips, 4, fair) };
    assert!(!scheduler.is_null() && !queues.is_null());
    let count = wanted.len();
    let mut board = Board {
        queues,
        now: 0,
        wanted: wanted.into(),
        free: 0,
        done: vec![0; chips as usize],
        responses: VecDeque::new(),
        sent: Vec::new(),
        complete: Vec::new(),
    };
    let platform = platform(&mut board);
    while board.complete.len() < count {
        let outcome = unsafe { fy_scheduler_iterate(scheduler, &raw const platform) };
        assert_ne!(outcome, FyOutcome::WrongAnswer);
        if outcome == FyOutcome::Idle {
            let answer = board.responses.front().map_or(FY_NEVER, |response| response.0);
            let question = unsafe { fy_scheduler_next_question(scheduler) };
            assert!(answer.min(question) < FY_NEVER, "it would sleep for ever");
            board.now = board.now.max(answer.min(question));
        }
    }
    assert_eq!(memory.0[bytes], 0xAA, "nothing behind the memory is written");
    board
}

#[test]
fn operations_are_served_by_the_grammar() {
    let ops = [FyOp::Program, FyOp::Read, FyOp::Erase];
    let wanted = (0..60).map(|id| operation(id, ops[id as usize % 3], id * 7 % 8, 0)).collect();
    let board = run(8, 2, null(), wanted);
    let mut complete = board.complete.clone();
    complete.sort_unstable();
    assert_eq!(complete, (0..60).collect::<Vec<u32>>());
    for id in 0..60 {
        let kinds = board.sent.iter().filter(|sent| sent.operation == id);
        let kinds = kinds.filter(|sent| sent.kind != FyKind::Status as u8);
        let name = |sent: &FyRequest| unsafe { CStr::from_ptr(fy_kind_name(sent.kind)) };
        let kinds: Vec<_> = kinds.map(|sent| name(sent).to_str().expect("ASCII")).collect();
        let expected = ["PPIDIDIDIDPA", "RAODODODOD", "EA"][id as usize % 3];
        assert_eq!(kinds.concat(), expected);
    }
    assert!(board.sent.iter().all(|sent| sent.channel == sent.chip / 4));
}

/// A stream that has one operation goes before the many of another.
#[test]
fn streams_share_a_chip() {
    let weights = [1, 1];
    let fair =
        FyFair { weights: weights.as_ptr(), streams: 2, costs_ns: [240_870, 1_665_900, 5_000_490] };
    let wanted = || (0..5).map(|id| operation(id, FyOp::Read, 0, u16::from(id == 4))).collect();
    assert_eq!(run(1, 1, null(), wanted()).complete, [0, 1, 2, 3, 4]);
    assert_eq!(run(1, 1, &raw const fair, wanted()).complete, [0, 4, 1, 2, 3]);
}

#[test]
fn wrong_arguments_are_refused() {
    let mut memory = Lent::new();
    let init = |memory, bytes, chips, channels, options: *const FyOptions| unsafe {
        fy_scheduler_init(memory, bytes, chips, channels, options)
    };
    let bytes = fy_scheduler_size(4, 2);
    let options: *const FyOptions = &OPTIONS;
    assert!(!init(memory.at(16), bytes, 4, 2, options).is_null());
    assert!(init(memory.at(16), bytes - 1, 4, 2, options).is_null(), "too small");
    assert!(init(memory.at(1), bytes, 4, 2, options).is_null(), "not aligned");
    assert!(init(null_mut(), bytes, 4, 2, options).is_null(), "no memory");
    assert!(init(memory.at(16), bytes, 4, 2, null()).is_null(), "no options");
    let unknown = FyOptions { data_order: 3, ..OPTIONS };
    assert!(init(memory.at(16), bytes, 4, 2, &raw const unknown).is_null(), "no such order");
    for (chips, channels) in [(0, 0), (4, 0), (0, 1), (1, 2), (3, 2)] {
        assert_eq!(fy_scheduler_size(chips, channels), 0);
        assert!(init(memory.at(16), 8_000, chips, channels, options).is_null());
    }
    let queues = |bytes, chips, depth, fair: *const FyFair| {
        unsafe { fy_queues_init(Lent::new().at(0), bytes, chips, depth, fair) }.is_null()
    };
    assert!(!queues(fy_queues_size(2, 3, 1), 2, 3, null()));
    assert!(queues(fy_queues_size(2, 3, 1) - 1, 2, 3, null()), "too small");
    assert!(queues(8_192, 0, 3, null()) && queues(8_192, 2, 0, null()), "no chips, no room");
    let weights = [1, 0];
    let fair = |weights, streams| FyFair { weights, streams, costs_ns: [1; 3] };
    assert!(queues(8_192, 2, 3, &fair(weights.as_ptr(), 2)), "a weight of 0");
    assert!(queues(8_192, 2, 3, &fair(null(), 1)), "no weights");
    assert!(queues(8_192, 2, 3, &fair(weights.as_ptr(), 0)), "no streams");
    assert_eq!(fy_queues_size(1, 1, 65_537), 0);
    assert_eq!(fy_queues_size(u32::MAX, u32::MAX, 65_536), 0);
}

#[test]
fn operations_that_cannot_be_are_refused() {
    let mut memory = Lent::new();
    let queues = unsafe { fy_queues_init(memory.at(0), 8_192, 2, 2, null()) };
    let good = operation(1, FyOp::Read, 1, 9);
    let push = |operation: FyOperation| unsafe { fy_queues_push(queues, &raw const operation) };
    assert!(!push(FyOperation { chip: 2, ..good }));
    assert!(!push(FyOperation { op: 3, ..good }));
    assert!(!push(FyOperation { pages: 0, ..good }));
    assert!(!push(FyOperation { chunk_bytes: 0, ..good }));
    assert!(!push(FyOperation { page_bytes: u32::MAX, chunk_bytes: 1, ..good }));
    assert!(!push(FyOperation { array_ns: u64::MAX, ..good }));
    assert!(push(good) && push(good));
    assert!(!push(good), "there is no room");
    let mut found = FyOperation::default();
    let has_room = |chip| unsafe { fy_queues_has_room(queues, chip, 0) };
    assert!(!has_room(1) && has_room(0) && !has_room(2));
    let mut pop = |chip| unsafe { fy_queues_pop(queues, chip, &raw mut found) };
    assert!(pop(1) && !pop(0) && !pop(2));
    assert_eq!(found, good);
}

/// An answer that cannot be is told and left out; the scheduler goes on.
#[test]
fn wrong_answers_are_told() {
    let (mut memory, mut more) = (Lent::new(), Lent::new());
    let scheduler = unsafe { fy_scheduler_init(memory.at(0), 8_192, 1, 1, &OPTIONS) };
    let queues = unsafe { fy_queues_init(more.at(0), 8_192, 1, 2, null()) };
    let mut board = Board {
        queues,
        now: 0,
        wanted: VecDeque::new(),
        free: 0,
        done: vec![0],
        responses: VecDeque::new(),
        sent: Vec::new(),
        complete: Vec::new(),
    };
    let good = platform(&mut board);
    let iterate = |platform: &FyPlatform| unsafe { fy_scheduler_iterate(scheduler, platform) };
    assert_eq!(iterate(&good), FyOutcome::Idle);
    for (chip, kind) in [(1, FyKind::Status), (0, FyKind::ReadActivate)] {
        let response = FyResponse { chip, kind: kind as u8, ready: true };
        board.responses.push_back((0, response));
        assert_eq!(iterate(&good), FyOutcome::WrongAnswer);
    }
    board.responses.push_back((0, FyResponse { chip: 0, kind: 7, ready: true }));
    assert_eq!(iterate(&good), FyOutcome::WrongAnswer);
    assert_eq!(iterate(&FyPlatform { now: None, ..good }), FyOutcome::WrongAnswer);
    assert_eq!(
        unsafe { fy_scheduler_iterate(null_mut(), &raw const good) },
        FyOutcome::WrongAnswer
    );
    assert_eq!(unsafe { fy_scheduler_next_question(null()) }, FY_NEVER);
    board.wanted.push_back(operation(5, FyOp::Erase, 0, 0));
    assert_eq!(iterate(&good), FyOutcome::Worked);
    assert_eq!(board.sent.len(), 1);
}

/// The sizes that the header has as macros are enough.
#[test]
fn the_macros_of_the_header_are_enough() {
    for chips in 1..40_u32 {
        for more in 1..9_u32 {
            let (many, few) = (chips as usize, more as usize);
            let bound =
                FY_SCHEDULER_FIXED_BYTES + many * few * FY_CHIP_BYTES + few * FY_CHANNEL_BYTES;
            assert!(fy_scheduler_size(chips * more, more) <= bound);
            let queues = many * few * (FY_QUEUE_BYTES + 3 * FY_WAITING_BYTES);
            let bound = FY_QUEUES_FIXED_BYTES + few * FY_STREAM_BYTES + queues;
            assert!(fy_queues_size(chips, 3, more) <= bound);
        }
    }
}

#[test]
fn kinds_have_names() {
    let name = |kind| unsafe { CStr::from_ptr(fy_kind_name(kind)) };
    assert_eq!([0, 6, 7].map(name), [c"EA", c"ST", c"?"]);
}
