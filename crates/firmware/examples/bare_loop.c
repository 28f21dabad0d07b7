/* The scheduler in a bare loop, as a firmware in C runs it: no heap, no clock but a counter, and a
 * controller that is a few registers. It does what crates/core/examples/bare_loop.rs does in Rust.
 *
 *     cargo build --release -p flashyard-firmware
 *     cc -I crates/firmware/include crates/firmware/examples/bare_loop.c \
 *         target/release/libflashyard_firmware.a -o bare_loop
 *
 * Two chips erase, program and read. The program prints the order of bus requests and when each
 * operation is complete. */

#include "flashyard.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHIPS = 2, CHANNELS = 1, DEPTH = 4, WANTED = 5 };

/* What the flash translation layer wants: an operation and its chip. */
static const struct {
    uint8_t op;
    uint32_t chip;
} wanted[WANTED] = {
    {FY_OP_PROGRAM, 0}, {FY_OP_READ, 1}, {FY_OP_READ, 0}, {FY_OP_ERASE, 1}, {FY_OP_READ, 0},
};

/* A controller that serves a request at once, and chips that count down. */
struct board {
    FyQueues *queues;
    uint64_t now;
    uint32_t next;
    /* When the array of each chip is done. */
    uint64_t done[CHIPS];
    /* Answers that have not been read: of one chunk of data, and of the status of each chip. */
    FyResponse responses[CHIPS + 1];
    bool has_response[CHIPS + 1];
    /* Numbers of operations and when they were complete, in order. */
    uint32_t complete[WANTED];
    uint64_t complete_at[WANTED];
    uint32_t completed;
};

/* Memory that is lent to the scheduler and to its queues. */
static _Alignas(FY_ALIGN) uint8_t scheduler_memory[FY_SCHEDULER_BYTES(CHIPS, CHANNELS)];
static _Alignas(FY_ALIGN) uint8_t queues_memory[FY_QUEUES_BYTES(CHIPS, DEPTH, 1)];

static uint64_t array_ns(uint8_t op) {
    switch (op) {
    case FY_OP_READ: return 75000;
    case FY_OP_PROGRAM: return 1500000;
    default: return 5000000;
    }
}

static bool moves_data(uint8_t kind) { return kind == FY_KIND_DATA_IN || kind == FY_KIND_DATA_OUT; }

static uint64_t now(void *context) { return ((struct board *)context)->now; }

static bool take_in(void *context) {
    struct board *board = context;
    uint32_t first = board->next;
    while (board->next < WANTED && fy_queues_has_room(board->queues, wanted[board->next].chip, 0)) {
        FyOperation operation = {
            .id = board->next,
            .op = wanted[board->next].op,
            .since_ns = board->now,
            .chip = wanted[board->next].chip,
            .pages = 1,
            .page_bytes = 16384,
            .chunk_bytes = 4096,
            .array_ns = array_ns(wanted[board->next].op),
            .polls = true,
        };
        fy_queues_push(board->queues, &operation);
        board->next++;
    }
    return board->next > first;
}

static bool next(void *context, uint32_t chip, FyOperation *operation) {
    return fy_queues_pop(((struct board *)context)->queues, chip, operation);
}

static uint64_t send(void *context, const FyRequest *request) {
    struct board *board = context;
    printf("%" PRIu64 " ns: operation %" PRIu32 ", %s to chip %" PRIu32 "\n", board->now,
           request->operation, fy_kind_name(request->kind), request->chip);
    /* Time on the bus: 200 ns for short requests, 41 us for a chunk of data. */
    board->now += moves_data(request->kind) ? 41000 : 200;
    switch (request->kind) {
    case FY_KIND_ERASE_ACTIVATE:
    case FY_KIND_PROGRAM_ACTIVATE:
    case FY_KIND_READ_ACTIVATE:
        board->done[request->chip] = board->now + array_ns(wanted[request->operation].op);
        break;
    case FY_KIND_PROGRAM_PROLOG:
        break;
    default:
        for (int place = 0; place <= CHIPS; place++) {
            if (!board->has_response[place]) {
                bool ready = board->done[request->chip] <= board->now;
                board->responses[place] = (FyResponse){request->chip, request->kind, ready};
                board->has_response[place] = true;
                break;
            }
        }
    }
    return board->now;
}

static bool response(void *context, FyResponse *response) {
    struct board *board = context;
    for (int place = 0; place <= CHIPS; place++) {
        if (board->has_response[place]) {
            board->has_response[place] = false;
            *response = board->responses[place];
            return true;
        }
    }
    return false;
}

static void complete(void *context, const FyOperation *operation) {
    struct board *board = context;
    fy_queues_completed(board->queues);
    board->complete[board->completed] = operation->id;
    board->complete_at[board->completed] = board->now;
    board->completed++;
}

int main(void) {
    FyOptions options = {.poll_gap_ns = 1000, .waits = true, .data_order = FY_DATA_ORDER_OLDEST};
    FyScheduler *scheduler = fy_scheduler_init(scheduler_memory, sizeof scheduler_memory, CHIPS,
                                               CHANNELS, &options);
    struct board board = {
        .queues = fy_queues_init(queues_memory, sizeof queues_memory, CHIPS, DEPTH, NULL),
    };
    if (scheduler == NULL || board.queues == NULL) {
        return 1;
    }
    FyPlatform platform = {
        .context = &board,
        .now = now,
        .take_in = take_in,
        .next = next,
        .send = send,
        .response = response,
        .complete = complete,
    };
    while (board.completed < WANTED) {
        FyOutcome outcome = fy_scheduler_iterate(scheduler, &platform);
        if (outcome == FY_OUTCOME_WRONG_ANSWER) {
            return 1;
        }
        if (outcome == FY_OUTCOME_IDLE) {
            /* Nothing to do before a chip may be done. */
            uint64_t question = fy_scheduler_next_question(scheduler);
            board.now = question > board.now ? question : board.now;
        }
    }
    for (uint32_t place = 0; place < WANTED; place++) {
        printf("operation %" PRIu32 " is complete at %" PRIu64 " ns\n", board.complete[place],
               board.complete_at[place]);
    }
    return 0;
}
