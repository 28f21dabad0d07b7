/* Flashyard: the scheduler of flash bus requests for a firmware (docs/BUS.md).
 *
 * GENERATED from crates/firmware/src by `cargo xtask golden --update`. */

#ifndef FLASHYARD_H
#define FLASHYARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Memory that is enough for a scheduler, in bytes, as a constant.
 */
#define FY_SCHEDULER_BYTES(chips, channels) \
    (FY_SCHEDULER_FIXED_BYTES + (chips) * FY_CHIP_BYTES + (channels) * FY_CHANNEL_BYTES)

/**
 * Memory that is enough for queues, in bytes, as a constant; without fair queueing `streams` is 1.
 */
#define FY_QUEUES_BYTES(chips, depth, streams) \
    (FY_QUEUES_FIXED_BYTES + (streams) * FY_STREAM_BYTES + \
     (chips) * (streams) * (FY_QUEUE_BYTES + (depth) * FY_WAITING_BYTES))

/**
 * Lent memory begins at a multiple of this many bytes.
 */
#define FY_ALIGN 16

/**
 * An instant that never comes.
 */
#define FY_NEVER UINT64_MAX

/**
 * What a scheduler takes at most, in bytes, beside its chips and channels: for
 * `FY_SCHEDULER_BYTES`.
 */
#define FY_SCHEDULER_FIXED_BYTES 112

/**
 * What a chip of a scheduler takes, in bytes.
 */
#define FY_CHIP_BYTES 80

/**
 * What a channel of a scheduler takes, in bytes.
 */
#define FY_CHANNEL_BYTES 64

/**
 * What queues take at most, in bytes, beside the following: for `FY_QUEUES_BYTES`.
 */
#define FY_QUEUES_FIXED_BYTES 192

/**
 * What a queue takes, in bytes, beside its operations.
 */
#define FY_QUEUE_BYTES 8

/**
 * What an operation that waits takes, in bytes.
 */
#define FY_WAITING_BYTES 48

/**
 * What a stream takes at most, in bytes.
 */
#define FY_STREAM_BYTES 32

/**
 * What an iteration did.
 */
enum FyOutcome
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The platform answered something that cannot be: an operation or a response of no such chip,
     * of no such sort or without data, or one of its functions is missing. That answer was left
     * out; all others count.
     */
    FY_OUTCOME_WRONG_ANSWER = -1,
    /**
     * Nothing: the firmware may sleep until something arrives, a response comes or the next
     * question is due.
     */
    FY_OUTCOME_IDLE = 0,
    /**
     * Something.
     */
    FY_OUTCOME_WORKED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyOutcome FyOutcome;
#else
typedef int32_t FyOutcome;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What the array of a chip does.
 */
enum FyOp
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Senses a page.
     */
    FY_OP_READ = 0,
    /**
     * Programs a page.
     */
    FY_OP_PROGRAM = 1,
    /**
     * Erases a block.
     */
    FY_OP_ERASE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyOp FyOp;
#else
typedef uint8_t FyOp;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a bus request does.
 */
enum FyKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * EA: starts an erase. The chip is busy then.
     */
    FY_KIND_ERASE_ACTIVATE = 0,
    /**
     * PP: names the page of a program, before its data.
     */
    FY_KIND_PROGRAM_PROLOG = 1,
    /**
     * ID: moves a chunk of data to the chip.
     */
    FY_KIND_DATA_IN = 2,
    /**
     * PA: starts the program of the data that were moved. The chip is busy then.
     */
    FY_KIND_PROGRAM_ACTIVATE = 3,
    /**
     * RA: starts the read of a page. The chip is busy then.
     */
    FY_KIND_READ_ACTIVATE = 4,
    /**
     * OD: moves a chunk of data from the chip.
     */
    FY_KIND_DATA_OUT = 5,
    /**
     * ST: asks whether the chip is done.
     */
    FY_KIND_STATUS = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyKind FyKind;
#else
typedef uint8_t FyKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Which chip moves data next, where several could.
 */
enum FyDataOrder
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The lowest number.
     */
    FY_DATA_ORDER_LOWEST_CHIP = 0,
    /**
     * The next one after the chip that moved data last.
     */
    FY_DATA_ORDER_ROUND_ROBIN = 1,
    /**
     * The one whose operation is the oldest.
     */
    FY_DATA_ORDER_OLDEST = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyDataOrder FyDataOrder;
#else
typedef uint8_t FyDataOrder;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Queues of the operations that wait for chips, at the start of lent memory: one for each chip or,
 * with fair queueing, for each stream of each chip.
 */
typedef struct FyQueues FyQueues;

/**
 * The scheduler of one channel or more, at the start of lent memory.
 */
typedef struct FyScheduler FyScheduler;

/**
 * How the scheduler decides.
 */
typedef struct {
    /**
     * Time between an answer "busy" and the next question, in nanoseconds; 1000 is usual.
     */
    uint64_t poll_gap_ns;
    /**
     * Whether a chip is asked only once it has had the time that is expected of its operation.
     * Otherwise it is asked in every iteration.
     */
    bool waits;
    /**
     * Which chip moves data next: a value of `FyDataOrder`.
     */
    uint8_t data_order;
} FyOptions;

/**
 * An operation of a chip. Operations of one chip are done in the order in which they are handed
 * over.
 */
typedef struct {
    /**
     * When it was handed over, in nanoseconds: the oldest one is that of the least instant.
     */
    uint64_t since_ns;
    /**
     * The time in the array that is expected, in nanoseconds; at most 2^62.
     */
    uint64_t array_ns;
    /**
     * The number by which the firmware knows it; requests carry it.
     */
    uint32_t id;
    /**
     * The chip, counted through all channels.
     */
    uint32_t chip;
    /**
     * Its block.
     */
    uint32_t block;
    /**
     * The page of the block.
     */
    uint32_t page;
    /**
     * Pages that it works on at once, of several planes or of one word line; at least 1.
     */
    uint32_t pages;
    /**
     * Bytes that move of each page; 0 where none do, as of a copy inside the chip.
     */
    uint32_t page_bytes;
    /**
     * Bytes that a data request moves at most; at least 1.
     */
    uint32_t chunk_bytes;
    /**
     * The stream that asks for it.
     */
    uint16_t stream;
    /**
     * What it does: a value of `FyOp`.
     */
    uint8_t op;
    /**
     * Whether a read asks for its status before its data. A read that moves no data always does.
     */
    bool polls;
} FyOperation;

/**
 * A bus request. It names all that the controller needs to serve it.
 */
typedef struct {
    /**
     * The operation that it is part of.
     */
    uint32_t operation;
    /**
     * The channel.
     */
    uint32_t channel;
    /**
     * The chip, counted through all channels.
     */
    uint32_t chip;
    /**
     * The block of the chip.
     */
    uint32_t block;
    /**
     * The page of the block.
     */
    uint32_t page;
    /**
     * Which page of an operation that works on several at once, from 0.
     */
    uint32_t plane;
    /**
     * The first byte of the page that a data request moves.
     */
    uint32_t offset;
    /**
     * Bytes that a data request moves; 0 for the others.
     */
    uint32_t bytes;
    /**
     * The stream that asked for the operation.
     */
    uint16_t stream;
    /**
     * What it does: a value of `FyKind`.
     */
    uint8_t kind;
} FyRequest;

/**
 * What the controller answers. It answers data requests (`DataIn`, `DataOut`) and status requests
 * (`Status`) once each, and no others.
 */
typedef struct {
    /**
     * The chip, counted through all channels.
     */
    uint32_t chip;
    /**
     * What was asked: a value of `FyKind`.
     */
    uint8_t kind;
    /**
     * Of a status request: whether the chip is ready.
     */
    bool ready;
} FyResponse;

/**
 * What the scheduler runs on. Each function gets `context`; none may be null.
 */
typedef struct {
    /**
     * Handed to every function.
     */
    void *context;
    /**
     * The present, in nanoseconds; it never goes back.
     */
    uint64_t (*now)(void *context);
    /**
     * Takes in the operations that have been handed over, as far as the queues of their chips have
     * room. Returns whether there was one.
     */
    bool (*take_in)(void *context);
    /**
     * Writes the operation that a chip serves next, now that it serves none. Returns whether there
     * is one.
     */
    bool (*next)(void *context, uint32_t chip, FyOperation *operation);
    /**
     * Sends a request to the controller of its channel, which serves requests in order. Returns
     * when it will have left the bus, in nanoseconds.
     */
    uint64_t (*send)(void *context, const FyRequest *request);
    /**
     * Writes the next response of the controllers. Returns whether there is one.
     */
    bool (*response)(void *context, FyResponse *response);
    /**
     * The operation that a chip served is complete.
     */
    void (*complete)(void *context, const FyOperation *operation);
} FyPlatform;

/**
 * Shares chips fairly between streams, by start-time fair queueing.
 */
typedef struct {
    /**
     * The weight of each stream, at least 1; a stream of twice the weight gets twice the service.
     */
    const uint32_t *weights;
    /**
     * How many streams there are, 1 to 65,536.
     */
    uint32_t streams;
    /**
     * How long an operation is expected to occupy its chip, in nanoseconds, by `FyOp`.
     */
    uint64_t costs_ns[3];
} FyFair;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The short name of a kind of request (`EA`, `PP`, `ID`, `PA`, `RA`, `OD`, `ST`), ended by a zero
 * byte; of any other number `?`.
 */
const char *fy_kind_name(uint8_t kind);

/**
 * The bytes that a scheduler needs; 0 if there can be none. Each channel has equally many chips,
 * at least one.
 */
size_t fy_scheduler_size(uint32_t chips, uint32_t channels);

/**
 * Makes a scheduler whose chips have nothing to do in lent memory of `bytes` bytes, which begins
 * at a multiple of `FY_ALIGN`. Returns null if it is too small, not aligned, or an argument is
 * wrong.
 *
 * # Safety
 *
 * `memory` is valid for reads and writes of so many bytes for as long as the scheduler is used,
 * and nothing else uses it. `options` is valid for reads, or null.
 */
FyScheduler *fy_scheduler_init(void *memory,
                               size_t bytes,
                               uint32_t chips,
                               uint32_t channels,
                               const FyOptions *options);

/**
 * One iteration of the loop.
 *
 * # Safety
 *
 * `scheduler` is one that `fy_scheduler_init` has made, in memory that is still lent. `platform`
 * is valid for reads; its functions may be called with its context. None of them uses this
 * scheduler.
 */
FyOutcome fy_scheduler_iterate(FyScheduler *scheduler, const FyPlatform *platform);

/**
 * When a chip is asked for its status next, in nanoseconds; `FY_NEVER` where none waits for that.
 *
 * # Safety
 *
 * `scheduler` is one that `fy_scheduler_init` has made, in memory that is still lent.
 */
uint64_t fy_scheduler_next_question(const FyScheduler *scheduler);

/**
 * The bytes that queues of `depth` operations each need; 0 if there can be none. Without fair
 * queueing `streams` is 1.
 */
size_t fy_queues_size(uint32_t chips, uint32_t depth, uint32_t streams);

/**
 * Makes empty queues in lent memory of `bytes` bytes, which begins at a multiple of `FY_ALIGN`;
 * with `fair`, chips are shared fairly between streams. Returns null if the memory is too small,
 * not aligned, or an argument is wrong.
 *
 * # Safety
 *
 * `memory` is valid for reads and writes of so many bytes for as long as the queues are used, and
 * nothing else uses it. `fair` is null or valid for reads, and so are its weights.
 */
FyQueues *fy_queues_init(void *memory,
                         size_t bytes,
                         uint32_t chips,
                         uint32_t depth,
                         const FyFair *fair);

/**
 * Whether an operation of a stream may be handed over for a chip.
 *
 * # Safety
 *
 * `queues` are some that `fy_queues_init` has made, in memory that is still lent.
 */
bool fy_queues_has_room(const FyQueues *queues, uint32_t chip, uint16_t stream);

/**
 * An operation waits for its chip. Returns false, and does nothing, if there is no room or the
 * operation cannot be.
 *
 * # Safety
 *
 * `queues` are some that `fy_queues_init` has made, in memory that is still lent. `operation` is
 * valid for reads.
 */
bool fy_queues_push(FyQueues *queues, const FyOperation *operation);

/**
 * Takes the operation that a chip serves next and writes it: the oldest one or, with fair
 * queueing, that of the stream whose virtual time is least. Returns whether there is one.
 *
 * # Safety
 *
 * `queues` are some that `fy_queues_init` has made, in memory that is still lent. `operation` is
 * valid for writes.
 */
bool fy_queues_pop(FyQueues *queues, uint32_t chip, FyOperation *operation);

/**
 * An operation that was taken is complete. Fair queueing needs to know.
 *
 * # Safety
 *
 * `queues` are some that `fy_queues_init` has made, in memory that is still lent.
 */
void fy_queues_completed(FyQueues *queues);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FLASHYARD_H */
