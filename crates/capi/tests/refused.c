/* What cannot be is refused with a code and a text, and nothing ends the program. */

#include "flashyard_sim.h"
#include "check.h"

#include <string.h>

static char text[512];

static const char *why(FyDevice *device)
{
    CHECK(fy_error(device, text, sizeof text) > 0);
    return text;
}

static FyDevice *opened(const char *device, const char *setting)
{
    FyOptions options = {0};
    options.device = device;
    options.settings = &setting;
    options.settings_count = setting != NULL;
    text[0] = 0;
    return fy_open(&options, text, sizeof text);
}

static FyHostRequest request(uint64_t at_ns, uint64_t offset, uint64_t bytes)
{
    FyHostRequest request = {0};
    request.at_ns = at_ns;
    request.offset = offset;
    request.bytes = bytes;
    request.op = FY_HOST_OP_WRITE;
    request.placement = FY_NO_PLACEMENT;
    return request;
}

/* A policy that names a queue that there is not. */
static void misplaced(void *context, const FyCommand *command, uint64_t now, FyPlacement *placement)
{
    (void)context, (void)command, (void)now;
    placement->queue = 3;
}

/* The lowest chip that has a request. */
static int64_t lowest(void *context, const FyChannel *channel)
{
    *(uint64_t *)context += 1;
    for (size_t chip = 0; chip < channel->chips; ++chip) {
        if (channel->candidates[chip].present) {
            return (int64_t)chip;
        }
    }
    return -1;
}

static void wrong_input(void)
{
    CHECK(fy_open(NULL, text, sizeof text) == NULL);
    CHECK(opened("no-such-device", NULL) == NULL && strstr(text, "no-such-device") != NULL);
    CHECK(opened("toy", "gc.polcy=greedy") == NULL && strstr(text, "gc.policy") != NULL);
    char cut[8];
    FyOptions options = {0};
    options.device = "no-such-device";
    CHECK(fy_open(&options, cut, sizeof cut) == NULL && strlen(cut) == 7);
    options.device = "toy";
    options.settings_count = 2;
    CHECK(fy_open(&options, text, sizeof text) == NULL);
    CHECK(strcmp(text, "`settings` is a null pointer") == 0);
    options.settings_count = 0;
    FyCommandPolicy taken[2] = {{"drs", NULL, 1, misplaced}, {"mine", NULL, 1, misplaced}};
    options.command_policies = taken;
    options.command_policies_count = 2;
    CHECK(fy_open(&options, text, sizeof text) == NULL);
    CHECK(strcmp(text, "policy.command: there is a drs already") == 0);
    taken[0].name = "a b=";
    CHECK(fy_open(&options, text, sizeof text) == NULL && strstr(text, "is no name") != NULL);
    taken[0].name = "mine";
    CHECK(fy_open(&options, text, sizeof text) == NULL && strstr(text, "there is a mine already"));
    /* The text of a device file. */
    FyDevice *device = opened("base = \"toy\"\n[geometry]\nchannels = 2\n", NULL);
    CHECK(device != NULL && fy_capacity(device) > 0);
    fy_close(device);
    fy_close(NULL);
}

static void refused_requests(void)
{
    FyDevice *device = opened("embedded-2x2", "interface.queue_depth=1");
    CHECK(device != NULL);
    FyHostRequest list[3] = {request(10, 0, 4096), request(20, 0, 100), request(20, 0, 4096)};
    CHECK(fy_submit(device, list, 3) == 1 && strstr(why(device), "512") != NULL);
    CHECK(fy_submit(device, list + 1, 1) == FY_STATUS_ARGUMENT);
    list[0] = request(20, 0, 0);
    CHECK(fy_submit(device, list, 1) == FY_STATUS_ARGUMENT && strstr(why(device), "no bytes"));
    list[0] = request(5, 0, 4096);
    CHECK(fy_submit(device, list, 1) == FY_STATUS_ORDER);
    list[0] = request(20, fy_capacity(device), 512);
    CHECK(fy_submit(device, list, 1) == FY_STATUS_RANGE);
    CHECK(fy_next(device) <= 10 && fy_outstanding(device) == 1);
    CHECK(fy_advance(device, 10, NULL, 0) == 0 && fy_now(device) == 10);
    list[0] = request(10, 0, 4096);
    CHECK(fy_submit(device, list, 1) == FY_STATUS_FULL);
    list[0] = request(9, 0, 4096);
    CHECK(fy_submit(device, list, 1) == FY_STATUS_PAST);
    FyCompletion over;
    FyDevice *copy = fy_fork(device);
    CHECK(copy != NULL && fy_advance(copy, FY_NEVER, &over, 1) == 1);
    uint64_t at = over.at_ns, sum = 0;
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == 1 && over.at_ns == at && at == fy_now(device));
    for (size_t part = 0; part < FY_PARTS; ++part) {
        CHECK(fy_part_name(part) != NULL);
        sum += over.parts_ns[part];
    }
    CHECK(fy_part_name(FY_PARTS) == NULL && sum == at - 10);
    CHECK(fy_no_more(device) == FY_STATUS_OK);
    list[0] = request(at, 0, 4096);
    CHECK(fy_submit(device, list, 1) == FY_STATUS_CLOSED);
    CHECK(fy_report(device, NULL, 0) > 1000);
    CHECK(fy_now(device) == FY_NEVER && fy_advance(device, 1, NULL, 0) == FY_STATUS_CLOSED);
    CHECK(fy_advance(NULL, 1, NULL, 0) == FY_STATUS_ARGUMENT);
    /* The text is that of the last failure. */
    CHECK(fy_submit(copy, NULL, 0) == 0);
    CHECK(fy_submit(copy, NULL, 3) == FY_STATUS_ARGUMENT && strstr(why(copy), "`requests`"));
    CHECK(fy_zone(copy, 0, NULL) == FY_STATUS_ARGUMENT && strstr(why(copy), "`zone`"));
    CHECK(fy_handle(copy, 0, NULL) == FY_STATUS_ARGUMENT && strstr(why(copy), "`handle`"));
    CHECK(fy_figures(copy, NULL) == FY_STATUS_ARGUMENT && strstr(why(copy), "`figures`"));
    CHECK(fy_cut(copy, 1, NULL, NULL, 0) == FY_STATUS_ARGUMENT && strstr(why(copy), "`cut`"));
    list[0] = request(FY_NEVER, 0, 4096);
    CHECK(fy_submit(copy, list, 1) == FY_STATUS_RANGE);
    fy_close(device);
    fy_close(copy);
}

/* A loss of power takes what the write buffer holds, and the device goes on behind it. */
static void cuts(void)
{
    const char *settings[] = {"power.oob_scan=true", "buffer.bytes=1048576", "buffer.volatile=true"};
    FyOptions options = {0};
    options.device = "embedded-2x2";
    options.settings = settings;
    FyDevice *refuses = fy_open(&options, text, sizeof text);
    FyCut cut;
    CHECK(fy_cut(refuses, 1, &cut, NULL, 0) == FY_STATUS_INPUT && strstr(why(refuses), "oob_scan"));
    CHECK(fy_now(refuses) == 0);
    fy_close(refuses);
    options.settings_count = 3;
    FyDevice *device = fy_open(&options, text, sizeof text);
    CHECK(device != NULL);
    FyHostRequest one = request(0, 8192, 4096);
    CHECK(fy_submit(device, &one, 1) == 1);
    FyCompletion over;
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == 1);
    FyLost lost;
    CHECK(fy_cut(device, 1, &cut, &lost, 1) == 1 && cut.lost_units == 1 && cut.broken_units == 0);
    CHECK(lost.offset == 8192 && lost.bytes == 4096 && lost.how == FY_HOW_BUFFERED);
    CHECK(cut.at_ns == fy_now(device) && lost.promised == 0);
    one = request(cut.at_ns, 8192, 4096);
    CHECK(fy_submit(device, &one, 1) == 1 && fy_advance(device, FY_NEVER, &over, 1) == 1);
    CHECK(over.at_ns >= cut.at_ns + cut.recovery_ns);
    /* Three are over and one is taken; the others are there behind the cut, in a copy as well. */
    FyHostRequest three[] = {one, one, one};
    for (size_t number = 0; number < 3; ++number) {
        three[number].at_ns = over.at_ns;
        three[number].cookie = 70 + number;
    }
    CHECK(fy_submit(device, three, 3) == 3 && fy_advance(device, FY_NEVER, NULL, 0) == 0);
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == 1 && over.cookie == 70);
    CHECK(fy_cut(device, 2, &cut, &lost, 1) == 1 && lost.offset == 8192);
    one = request(cut.at_ns, 8192, 4096);
    CHECK(fy_submit(device, &one, 1) == 1 && fy_next(device) == cut.at_ns);
    FyDevice *copy = fy_fork(device);
    FyDevice *both[] = {device, copy};
    for (size_t number = 0; number < 2; ++number) {
        FyCompletion rest[4];
        CHECK(fy_advance(both[number], cut.at_ns, rest, 4) == 2);
        CHECK(rest[0].cookie == 71 && rest[1].cookie == 72 && rest[1].at_ns <= cut.at_ns);
        CHECK(fy_advance(both[number], FY_NEVER, rest, 4) == 1 && rest[0].cookie == 0);
        fy_close(both[number]);
    }
}

static void policies(void)
{
    FyCommandPolicy broken = {"misplaced", NULL, 2, misplaced};
    const char *setting = "policy.command=misplaced";
    FyOptions options = {0};
    options.device = "embedded-2x2";
    options.settings = &setting;
    options.settings_count = 1;
    options.command_policies = &broken;
    options.command_policies_count = 1;
    FyDevice *device = fy_open(&options, text, sizeof text);
    CHECK(device != NULL);
    FyHostRequest one = request(0, 0, 4096);
    FyCompletion over;
    CHECK(fy_submit(device, &one, 1) == 1);
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == FY_STATUS_PANIC);
    CHECK(strstr(why(device), "queue 3 of 2") != NULL);
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == FY_STATUS_CLOSED);
    fy_close(device);

    uint64_t asked = 0;
    FyBusPolicy bus = {"lowest", &asked, lowest};
    const char *settings[] = {"channel.arbitration=lowest", "bus.precision=requests"};
    options.settings = settings;
    options.settings_count = 2;
    options.command_policies_count = 0;
    options.bus_policies = &bus;
    options.bus_policies_count = 1;
    device = fy_open(&options, text, sizeof text);
    CHECK(device != NULL);
    CHECK(fy_submit(device, &one, 1) == 1 && fy_advance(device, FY_NEVER, &over, 1) == 1);
    CHECK(asked > 2);
    fy_close(device);
}

int main(void)
{
    wrong_input();
    refused_requests();
    cuts();
    policies();
    return EXIT_SUCCESS;
}
