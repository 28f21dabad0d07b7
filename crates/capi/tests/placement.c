/* Placement handles from C: what a reclaim unit can still take, and what handles have cost. */

#include "flashyard_sim.h"
#include "check.h"

enum { UNIT = 4096 };

static void write_unit(FyDevice *device, uint64_t number, uint16_t placement)
{
    FyHostRequest request = {0};
    FyCompletion over = {0};
    request.at_ns = fy_now(device);
    request.op = (uint32_t)FY_HOST_OP_WRITE;
    request.offset = number * UNIT;
    request.bytes = UNIT;
    request.placement = placement;
    CHECK(fy_submit(device, &request, 1) == 1);
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == 1);
}

int main(void)
{
    const char *settings[] = {
        "geometry.channels=1",     "geometry.ways=1",          "geometry.planes=1",
        "placement.handles=2",     "placement.map=[1, 0, 0]",  "state.initial=fresh",
    };
    char error[512] = {0};
    FyOptions options = {0};
    options.device = "embedded-2x2";
    options.settings = settings;
    options.settings_count = sizeof settings / sizeof *settings;
    FyDevice *device = fy_open(&options, error, sizeof error);
    CHECK(device != NULL);
    FyHandle handle;
    CHECK(fy_handle(device, 0, &handle) == FY_STATUS_OK);
    CHECK(handle.unit_bytes > 8 * UNIT && handle.available_bytes == handle.unit_bytes);
    CHECK(fy_handle(device, 2, &handle) == FY_STATUS_RANGE);
    /* Identifier 0 goes to handle 1, 2 to handle 0, and 9, which the map does not have, as 0. */
    write_unit(device, 0, 0);
    write_unit(device, 1, 9);
    write_unit(device, 2, 2);
    CHECK(fy_handle(device, 1, &handle) == FY_STATUS_OK);
    CHECK(handle.available_bytes == handle.unit_bytes - 2 * UNIT);
    CHECK(handle.host_bytes == 2 * UNIT && handle.media_bytes == 2 * UNIT);
    CHECK(fy_handle(device, 0, &handle) == FY_STATUS_OK);
    CHECK(handle.available_bytes == handle.unit_bytes - UNIT && handle.host_bytes == UNIT);
    CHECK(handle.erased_bytes == 0);
    fy_close(device);
    return EXIT_SUCCESS;
}
