/* Zones from C: appends say where they have written, errors have the status of NVM Express. */

#include "flashyard_sim.h"
#include "check.h"

#include <string.h>

enum { APPEND = 8, RESET = 16, FINISH = 32 };

static FyCompletion does(FyDevice *device, FyHostOp op, uint32_t flags, uint64_t offset,
                         uint64_t bytes)
{
    FyHostRequest request = {0};
    FyCompletion over = {0};
    request.at_ns = fy_now(device);
    request.op = (uint32_t)op;
    request.flags = flags;
    request.offset = offset;
    request.bytes = bytes;
    request.placement = FY_NO_PLACEMENT;
    CHECK(fy_submit(device, &request, 1) == 1);
    CHECK(fy_advance(device, FY_NEVER, &over, 1) == 1);
    return over;
}

int main(void)
{
    char error[512] = {0};
    FyOptions options = {0};
    options.device = "zn540-zns";
    FyDevice *device = fy_open(&options, error, sizeof error);
    CHECK(device != NULL);
    FyZone zone;
    CHECK(fy_zone(device, 1, &zone) == FY_STATUS_OK && zone.state == FY_ZONE_STATE_EMPTY);
    CHECK(zone.offset == zone.capacity && zone.write_pointer == zone.offset);
    CHECK(fy_zone(device, 904, &zone) == FY_STATUS_RANGE);
    CHECK(fy_zone(device, 1, &zone) == FY_STATUS_OK);
    FyCompletion over = does(device, FY_HOST_OP_WRITE, APPEND, zone.offset, 8192);
    CHECK(over.status == 0 && over.offset == zone.offset);
    over = does(device, FY_HOST_OP_WRITE, APPEND, zone.offset, 4096);
    CHECK(over.status == 0 && over.offset == zone.offset + 8192);
    over = does(device, FY_HOST_OP_WRITE, 0, zone.offset, 4096);
    CHECK(over.status == 0x1BC && over.offset == 0);
    CHECK(does(device, FY_HOST_OP_TRIM, FINISH, zone.offset, 0).status == 0);
    CHECK(does(device, FY_HOST_OP_WRITE, APPEND, zone.offset, 4096).status == 0x1B9);
    CHECK(fy_zone(device, 1, &zone) == FY_STATUS_OK && zone.state == FY_ZONE_STATE_FULL);
    CHECK(zone.write_pointer == zone.offset + 12288);
    CHECK(does(device, FY_HOST_OP_TRIM, RESET, zone.offset, 0).status == 0);
    CHECK(fy_zone(device, 1, &zone) == FY_STATUS_OK && zone.state == FY_ZONE_STATE_EMPTY);
    fy_close(device);
    return EXIT_SUCCESS;
}
