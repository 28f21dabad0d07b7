/* Flashyard: simulated devices for programs in C (docs/EMBEDDING.md).
 *
 * GENERATED from crates/capi/src by `cargo xtask golden --update`. */

#ifndef FLASHYARD_SIM_H
#define FLASHYARD_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * An instant that does not come.
 */
#define FY_NEVER UINT64_MAX

/**
 * A request without a hint where its data go.
 */
#define FY_NO_PLACEMENT UINT16_MAX

/**
 * How many parts a latency has.
 */
#define FY_PARTS 19

/**
 * What became of a call.
 */
enum FyStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It did what it is for.
     */
    FY_STATUS_OK = 0,
    /**
     * An argument cannot be: a null pointer, a size that is no whole number of sectors, an
     * operation that there is not.
     */
    FY_STATUS_ARGUMENT = -1,
    /**
     * There is no such device, or a setting is wrong; the text says which.
     */
    FY_STATUS_INPUT = -2,
    /**
     * The request arrives before the time of the device.
     */
    FY_STATUS_PAST = -3,
    /**
     * The request reaches past the device, or arrives too late to be simulated: behind 2^62 ns.
     */
    FY_STATUS_RANGE = -4,
    /**
     * The request arrives before one that was submitted earlier.
     */
    FY_STATUS_ORDER = -5,
    /**
     * The submission queue is full (`interface.queue_depth`).
     */
    FY_STATUS_FULL = -6,
    /**
     * The device takes no requests any more.
     */
    FY_STATUS_CLOSED = -7,
    /**
     * The simulated device failed: it has no room left, or a rule is broken. It refuses further
     * calls.
     */
    FY_STATUS_DEVICE = -8,
    /**
     * The simulator failed, or a policy in C answered what cannot be. The device refuses further
     * calls.
     */
    FY_STATUS_PANIC = -9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyStatus FyStatus;
#else
typedef int32_t FyStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The state of a zone.
 */
enum FyZoneState
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Nothing is written.
     */
    FY_ZONE_STATE_EMPTY = 0,
    /**
     * A write or an append has opened it.
     */
    FY_ZONE_STATE_IMPLICITLY_OPEN = 1,
    /**
     * The host has opened it.
     */
    FY_ZONE_STATE_EXPLICITLY_OPEN = 2,
    /**
     * Written in part, or opened before, and not open.
     */
    FY_ZONE_STATE_CLOSED = 3,
    /**
     * Nothing more can be written.
     */
    FY_ZONE_STATE_FULL = 4,
    /**
     * It can be read and nothing else.
     */
    FY_ZONE_STATE_READ_ONLY = 5,
    /**
     * Its contents are lost.
     */
    FY_ZONE_STATE_OFFLINE = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyZoneState FyZoneState;
#else
typedef uint32_t FyZoneState;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What the host asks for.
 */
enum FyHostOp
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Reads bytes.
     */
    FY_HOST_OP_READ = 0,
    /**
     * Writes bytes.
     */
    FY_HOST_OP_WRITE = 1,
    /**
     * Forgets the contents of whole mapping units.
     */
    FY_HOST_OP_TRIM = 2,
    /**
     * Is over when every write that was answered before it came is on the flash, or in a buffer
     * that outlives a loss of power.
     */
    FY_HOST_OP_FLUSH = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyHostOp FyHostOp;
#else
typedef uint32_t FyHostOp;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How contents that the host was told of were lost.
 */
enum FyHow
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * They were in memory.
     */
    FY_HOW_BUFFERED = 0,
    /**
     * Their program was interrupted.
     */
    FY_HOW_PROGRAMMING = 1,
    /**
     * They were on flash, on the word line of a program that was interrupted.
     */
    FY_HOW_PAIRED = 2,
    /**
     * They were on flash, and recovery did not find them.
     */
    FY_HOW_UNFOUND = 3,
    /**
     * They were on flash, with the rest of their write not there.
     */
    FY_HOW_TORN = 4,
    /**
     * They were trimmed, and are there again.
     */
    FY_HOW_UNTRIMMED = 5,
    /**
     * Their program was interrupted and counts as whole: these sectors do not have them.
     */
    FY_HOW_SHORN = 6,
    /**
     * They are on flash with other bits.
     */
    FY_HOW_CORRUPT = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum FyHow FyHow;
#else
typedef uint32_t FyHow;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A simulated device.
 */
typedef struct FyDevice FyDevice;

/**
 * A command that is about to wait for its die.
 */
typedef struct {
    /**
     * When its request reached the device, in nanoseconds from the start; `FY_NEVER` for the
     * device's own work.
     */
    uint64_t request_arrival_ns;
    /**
     * The flash operation time of its request, as far as that is translated, in nanoseconds.
     */
    uint64_t request_fot_ns;
    /**
     * The place of its request in the order of admission.
     */
    uint64_t request_order;
    /**
     * How many commands of reads have been placed on its die since none waited there.
     */
    uint64_t reads_before;
    /**
     * Mapping units of its request.
     */
    uint32_t request_pages;
    /**
     * The stream that it works for; 65,535 for the device's own work.
     */
    uint16_t stream;
    /**
     * What the array does: 0 reads, 1 programs, 2 erases.
     */
    uint8_t op;
    /**
     * What it is done for: 0 data of the host, 1 and 2 the map (fetch, write-back), 3 and 4
     * garbage collection (data, map), 5 wear levelling, 6 merges, 7 folding of an SLC cache, 8 the
     * journal of the map, 9 recovery from a loss of power, 10 reading ahead.
     */
    uint8_t purpose;
    /**
     * Whether its request is a read.
     */
    bool is_read;
} FyCommand;

/**
 * Where a command waits.
 */
typedef struct {
    /**
     * The order inside the queue, the least first; equal ones in the order of insertion.
     */
    uint64_t key;
    /**
     * When the command may wait no longer, in nanoseconds from the start; `FY_NEVER` without such
     * a time.
     */
    uint64_t deadline_ns;
    /**
     * The queue, from 0, which is served first.
     */
    uint32_t queue;
} FyPlacement;

/**
 * A command policy: which waiting command a die takes next. Its answers must depend on the
 * arguments alone; copies of a device share the context.
 */
typedef struct {
    /**
     * The name that `policy.command` chooses it by; it is copied.
     */
    const char *name;
    /**
     * What its function gets first. Nothing uses it once the device and its copies are closed.
     */
    void *context;
    /**
     * Its queues, from 1 to 16.
     */
    uint32_t queues;
    /**
     * Says where a command waits. `placement` holds queue 0, key 0 and no deadline at first.
     */
    void (*place)(void *context, const FyCommand *command, uint64_t now_ns, FyPlacement *placement);
} FyCommandPolicy;

/**
 * An operation of a chip whose next bus request can be sent now.
 */
typedef struct {
    /**
     * The place of the operation in the order in which chips took operations.
     */
    uint64_t number;
    /**
     * When the operation was handed over, in nanoseconds from the start.
     */
    uint64_t since_ns;
    /**
     * The place of the request in the order in which requests could be sent.
     */
    uint64_t wanted;
    /**
     * The stream that asked for the operation.
     */
    uint16_t stream;
    /**
     * The request: 0 erase, 1 program prolog, 2 data in, 3 program, 4 read, 5 data out, 6 status.
     */
    uint8_t kind;
    /**
     * Whether the array of the operation has been started.
     */
    bool started;
    /**
     * Whether there is a request at all.
     */
    bool present;
} FyBusCandidate;

/**
 * What a bus policy knows of a channel.
 */
typedef struct {
    /**
     * By chip; with cache reads a chip has two, of its array and of its page register.
     */
    const FyBusCandidate *candidates;
    /**
     * How many there are.
     */
    size_t chips;
    /**
     * Operations whose array has been started.
     */
    uint64_t started;
    /**
     * Operations that are complete.
     */
    uint64_t completed;
    /**
     * The chip that moved data last.
     */
    size_t last_data;
} FyChannel;

/**
 * A bus policy: what a channel carries next. Its answers must depend on the arguments alone;
 * copies of a device share the context.
 */
typedef struct {
    /**
     * The name that `channel.arbitration` chooses it by; it is copied.
     */
    const char *name;
    /**
     * What its function gets first. Nothing uses it once the device and its copies are closed.
     */
    void *context;
    /**
     * The chip whose request is sent, one that is present; a negative number leaves the bus idle
     * until something changes.
     */
    int64_t (*pick)(void *context, const FyChannel *channel);
} FyBusPolicy;

/**
 * What makes a device.
 */
typedef struct {
    /**
     * The name of a preset, the path of a device file, or the text of one.
     */
    const char *device;
    /**
     * Settings, each `section.key=value`; may be null where there are none.
     */
    const char *const *settings;
    /**
     * How many there are.
     */
    size_t settings_count;
    /**
     * Command policies in C, which `policy.command=NAME` chooses; may be null.
     */
    const FyCommandPolicy *command_policies;
    /**
     * How many there are.
     */
    size_t command_policies_count;
    /**
     * Bus policies in C, which `channel.arbitration=NAME` chooses; may be null.
     */
    const FyBusPolicy *bus_policies;
    /**
     * How many there are.
     */
    size_t bus_policies_count;
    /**
     * Whether every rule is checked during the run: data integrity, order, exact sums. Slower.
     */
    bool check;
} FyOptions;

/**
 * A request of the host.
 */
typedef struct {
    /**
     * When it arrives, in nanoseconds from the start.
     */
    uint64_t at_ns;
    /**
     * Its first byte; a multiple of 512.
     */
    uint64_t offset;
    /**
     * Its bytes; a multiple of 512, 0 for a flush alone.
     */
    uint64_t bytes;
    /**
     * A number of the caller's, which the completion carries.
     */
    uint64_t cookie;
    /**
     * What it asks for: a value of `FyHostOp`.
     */
    uint32_t op;
    /**
     * 1: it is over when its data are on the flash (FUA). 2: a flush goes before it. 4: what it
     * trims reads as zeros from then on. On a device with zones, 8 of a write: an append to the
     * zone that begins at the offset; of a trim of no bytes: 16 resets that zone, 32 finishes, 64
     * opens, 128 closes it.
     */
    uint32_t flags;
    /**
     * The stream that policies see.
     */
    uint16_t stream;
    /**
     * A hint where its data go, or `FY_NO_PLACEMENT`.
     */
    uint16_t placement;
    /**
     * 0.
     */
    uint32_t reserved;
} FyHostRequest;

/**
 * A zone.
 */
typedef struct {
    /**
     * Its first byte.
     */
    uint64_t offset;
    /**
     * Bytes of it that can be written.
     */
    uint64_t capacity;
    /**
     * Its write pointer. Of a full zone the first byte that the host has not written.
     */
    uint64_t write_pointer;
    /**
     * Its state.
     */
    FyZoneState state;
    /**
     * 0.
     */
    uint32_t reserved;
} FyZone;

/**
 * A placement handle (reclaim unit handle).
 */
typedef struct {
    /**
     * Bytes that its reclaim unit can still take (RUAMW): the block of each plane that it writes
     * to, or its superblock.
     */
    uint64_t available_bytes;
    /**
     * The same of an empty one.
     */
    uint64_t unit_bytes;
    /**
     * Bytes that the host has asked to write with it (HBMW).
     */
    uint64_t host_bytes;
    /**
     * Bytes that were programmed for its data, copies included (MBMW).
     */
    uint64_t media_bytes;
    /**
     * Bytes of erased blocks in which its data lay (MBE).
     */
    uint64_t erased_bytes;
} FyHandle;

/**
 * A request that is over.
 */
typedef struct {
    /**
     * The number that the request had.
     */
    uint64_t cookie;
    /**
     * When it was over, in nanoseconds from the start.
     */
    uint64_t at_ns;
    /**
     * What its time went to, in nanoseconds, by part; `fy_part_name` names the parts.
     */
    uint64_t parts_ns[FY_PARTS];
    /**
     * Of an append to a zone the first byte that it has written; 0 of any other request.
     */
    uint64_t offset;
    /**
     * 0, or why a request to a device with zones had no effect: status code type and status code
     * of NVM Express, such as 0x1BC for a write that is not at the write pointer.
     */
    uint32_t status;
    /**
     * 0.
     */
    uint32_t reserved;
} FyCompletion;

/**
 * What a device has done so far.
 */
typedef struct {
    /**
     * Bytes that the host has asked to read.
     */
    uint64_t read_bytes;
    /**
     * Bytes that the host has asked to write.
     */
    uint64_t written_bytes;
    /**
     * Bytes programmed for all purposes; 0 on a disk.
     */
    uint64_t programmed_bytes;
    /**
     * Blocks erased; 0 on a disk.
     */
    uint64_t erased_blocks;
    /**
     * Energy of operations, in arrays and on channels, in picojoules.
     */
    uint64_t operations_pj;
    /**
     * Bytes programmed / bytes that the host has asked to write; 0 before the first.
     */
    double write_amplification;
} FyFigures;

/**
 * What a loss of power has done.
 */
typedef struct {
    /**
     * When the power failed, in nanoseconds from the start.
     */
    uint64_t at_ns;
    /**
     * How long recovery takes: requests wait until then.
     */
    uint64_t recovery_ns;
    /**
     * Pages that recovery reads.
     */
    uint64_t reads;
    /**
     * Mapping units of which something was lost.
     */
    uint64_t lost_units;
    /**
     * Those of them that the device had promised to keep.
     */
    uint64_t broken_units;
    /**
     * Mapping units whose program was interrupted.
     */
    uint64_t torn_units;
    /**
     * Units of the write buffer that the capacitor has saved.
     */
    uint64_t dumped_units;
    /**
     * Energy that the capacitor has given, in picojoules.
     */
    uint64_t energy_pj;
    /**
     * What saving everything takes, in picojoules.
     */
    uint64_t needed_pj;
} FyCut;

/**
 * A mapping unit that a loss of power has taken something from.
 */
typedef struct {
    /**
     * The first byte of the unit that is lost.
     */
    uint64_t offset;
    /**
     * How many are, up to the last one: what all answered requests cover whose data in the unit
     * are lost, and what is between them. Where some of them were on flash, the whole unit.
     */
    uint64_t bytes;
    /**
     * How the newest of them were lost: a value of `FyHow`.
     */
    uint32_t how;
    /**
     * 1 if the device had promised to keep any of them, else 0.
     */
    uint32_t promised;
} FyLost;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes a device. Null where there can be no such device: `error` has the reason then, cut to
 * `error_size` bytes.
 *
 * # Safety
 *
 * `options` points to options whose pointers are as they say; `error` is null or has `error_size`
 * bytes.
 */
FyDevice *fy_open(const FyOptions *options, char *error, size_t error_size);

/**
 * Submits requests in the order of the list, up to the first that is refused; returns how many
 * were taken. Where none was, the code of the refusal, and `fy_error` has its text. A request
 * whose time is `fy_now` after `fy_advance` has returned completions takes part in that instant.
 *
 * # Safety
 *
 * `device` is one that is open; `requests` has that many.
 */
int64_t fy_submit(FyDevice *device, const FyHostRequest *requests, size_t requests_count);

/**
 * A zone by its number, as the requests that the device has started have left it.
 * `FY_STATUS_RANGE` where there is no such zone.
 *
 * # Safety
 *
 * `device` is one that is open; `zone` may be written.
 */
FyStatus fy_zone(FyDevice *device, uint32_t number, FyZone *zone);

/**
 * A placement handle by its number (`placement.handles`): what its reclaim unit can still take,
 * and what its data have cost. `FY_STATUS_RANGE` where there is no such handle, or where its data
 * go to blocks that are not its own.
 *
 * # Safety
 *
 * `device` is one that is open; `handle` may be written.
 */
FyStatus fy_handle(FyDevice *device, uint8_t number, FyHandle *handle);

/**
 * No request comes any more: idle work of the end may begin when the last one is under way.
 *
 * # Safety
 *
 * `device` is one that is open.
 */
FyStatus fy_no_more(FyDevice *device);

/**
 * A time before which no request is over, in nanoseconds from the start; `FY_NEVER` where nothing
 * is pending. A caller with a clock of its own needs one wake-up there, and sets it anew after
 * each `fy_submit` and `fy_advance`.
 *
 * # Safety
 *
 * `device` is one that is open.
 */
uint64_t fy_next(FyDevice *device);

/**
 * Lets time go on until `until_ns`, or until `completions_size` requests are over; returns how
 * many are in `completions`, in the order in which they were over, or the code of a failure.
 * `FY_NEVER` as the time means as long as anything happens. With room for none, time goes on to
 * `until_ns`, and later calls return what was over.
 *
 * # Safety
 *
 * `device` is one that is open; `completions` has room for that many.
 */
int64_t fy_advance(FyDevice *device,
                   uint64_t until_ns,
                   FyCompletion *completions,
                   size_t completions_size);

/**
 * The time of the device, in nanoseconds from the start; `FY_NEVER` where it has ended.
 *
 * # Safety
 *
 * `device` is one that is open.
 */
uint64_t fy_now(FyDevice *device);

/**
 * Bytes that the host sees of the device; 0 where it has ended.
 *
 * # Safety
 *
 * `device` is one that is open.
 */
uint64_t fy_capacity(FyDevice *device);

/**
 * Requests that were submitted and are not over, or the code of a failure.
 *
 * # Safety
 *
 * `device` is one that is open.
 */
int64_t fy_outstanding(FyDevice *device);

/**
 * What the device has done so far.
 *
 * # Safety
 *
 * `device` is one that is open; `figures` may be written.
 */
FyStatus fy_figures(FyDevice *device, FyFigures *figures);

/**
 * Copies a device with all that is under way. From here the copy runs independently, and has to be
 * closed as well. Returns null if the device has ended.
 *
 * # Safety
 *
 * `device` is one that is open.
 */
FyDevice *fy_fork(FyDevice *device);

/**
 * The power of a device fails, and is back at once. The device goes on with what recovery finds:
 * its time stays, requests that were not over are never answered, and new ones wait until recovery
 * is over. What was over by then and was not asked for, `fy_advance` returns afterwards. Writes
 * what that has done, and up to `size` units that have lost something, the first
 * ones. Returns how many there are, or the code of a failure: `FyStatus::Input` where the section
 * `[power]` of the device is off, and on a disk.
 *
 * # Safety
 *
 * `device` is one that is open; `cut` may be written; `lost` is null or has `size` places.
 */
int64_t fy_cut(FyDevice *device, uint64_t seed, FyCut *cut, FyLost *lost, size_t size);

/**
 * Lets all that is under way end, and writes the report: JSON, as `flashyard run --json` prints it
 * (docs/JSON.md), with a zero byte behind it. Returns the bytes that it needs, or the code of a
 * failure; where they are more than `size`, the text is cut: ask with 0 first. The device takes no
 * requests afterwards.
 *
 * # Safety
 *
 * `device` is one that is open; `buffer` is null or has `size` bytes.
 */
int64_t fy_report(FyDevice *device, char *buffer, size_t size);

/**
 * The text of the last failure of a device. Returns the bytes that it needs, or a code.
 *
 * # Safety
 *
 * `device` is one that is open; `buffer` is null or has `size` bytes.
 */
int64_t fy_error(const FyDevice *device, char *buffer, size_t size);

/**
 * The name of a part of latencies, such as `die_gc`; null behind the last one.
 */
const char *fy_part_name(size_t part);

/**
 * Frees a device.
 *
 * # Safety
 *
 * `device` is null, or one that is open; nobody uses it afterwards.
 */
void fy_close(FyDevice *device);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FLASHYARD_SIM_H */
