/* A closed loop by hand, with a command policy in C.
 *
 * Eight requests are outstanding at any time; the next one is submitted at the instant at which one
 * is over. The policy serves small requests first. The program prints what it finds as the example
 * closed_loop.rs does: both must print the same. */

#include "flashyard_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 8, REQUESTS = 20000 };

/* Small requests first, in one queue; the device's own work before all. */
static void place(void *context, const FyCommand *command, uint64_t now_ns, FyPlacement *placement)
{
    (void)now_ns;
    *(uint64_t *)context += 1;
    placement->key = command->request_pages;
}

/* Splitmix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void fail(FyDevice *device, const char *what)
{
    char text[256];
    fy_error(device, text, sizeof text);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

/* The next request: a write of one to eight units of 4 KiB, one of four a read. */
static FyHostRequest next(uint64_t *state, uint64_t cookie, uint64_t now)
{
    FyHostRequest request = {0};
    uint64_t drawn = draw(state);
    request.at_ns = now;
    request.op = drawn % 4 == 0 ? FY_HOST_OP_READ : FY_HOST_OP_WRITE;
    request.offset = (drawn >> 8) % 17000 * 4096;
    request.bytes = ((drawn >> 40) % 8 + 1) * 4096;
    request.placement = FY_NO_PLACEMENT;
    request.cookie = cookie;
    return request;
}

int main(void)
{
    uint64_t placed = 0, state = 1, cookie = 0, latency = 0, checksum = 0;
    FyCommandPolicy policy = {"small-first", &placed, 1, place};
    const char *settings[] = {"policy.command=small-first", "queue.admission=page"};
    FyOptions options = {0};
    options.device = "small-full";
    options.settings = settings;
    options.settings_count = sizeof settings / sizeof *settings;
    options.command_policies = &policy;
    options.command_policies_count = 1;

    char error[512];
    FyDevice *device = fy_open(&options, error, sizeof error);
    if (device == NULL) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    uint64_t issued[REQUESTS];
    while (cookie < DEPTH) {
        FyHostRequest request = next(&state, cookie, 0);
        issued[cookie++] = 0;
        if (fy_submit(device, &request, 1) != 1) {
            fail(device, "submit");
        }
    }
    FyCompletion over[DEPTH];
    for (;;) {
        /* One at a time: the next request takes part in the instant. */
        int64_t count = fy_advance(device, FY_NEVER, over, 1);
        if (count < 0) {
            fail(device, "advance");
        }
        if (count == 0) {
            break;
        }
        latency += over[0].at_ns - issued[over[0].cookie];
        checksum = checksum * 31 + over[0].cookie;
        if (cookie < REQUESTS) {
            FyHostRequest request = next(&state, cookie, fy_now(device));
            issued[cookie++] = request.at_ns;
            if (fy_submit(device, &request, 1) != 1) {
                fail(device, "submit");
            }
        }
    }
    FyFigures figures;
    fy_figures(device, &figures);
    int64_t bytes = fy_report(device, NULL, 0);
    if (bytes < 0) {
        fail(device, "report");
    }
    char *report = malloc((size_t)bytes);
    fy_report(device, report, (size_t)bytes);
    printf("%d requests, %" PRIu64 " ns of latency, order %" PRIu64 "\n", REQUESTS, latency, checksum);
    printf("%" PRIu64 " bytes programmed, %s\n", figures.programmed_bytes,
           placed > REQUESTS ? "the policy was asked" : "the policy was not asked");
    printf("%s\n", report);
    free(report);
    fy_close(device);
    return EXIT_SUCCESS;
}
