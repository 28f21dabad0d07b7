//! Which parts go together with bus requests.

use crate::config::{DeviceKeys, FirmwareFamily, Precision, Readiness};
use crate::parts::policy::BusRule;
use flashyard_core::bus::policy::{AnyBusPolicy, BusPolicy, BusPolicyName};

/// Bus policies, and what they ask of the dies.
pub(super) fn check(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let arbitration = keys.channel.arbitration;
    let phased = matches!(arbitration, BusPolicyName::CommandsFirst | BusPolicyName::InOrder);
    if keys.bus.precision != Precision::Requests {
        if !phased {
            fail(
                "channel.arbitration: this policy orders bus requests; set \
                 bus.precision = \"requests\", or channel.arbitration = \"commands_first\" or \
                 \"in_order\""
                    .to_string(),
            );
        }
        return;
    }
    if keys.bus.readiness == Readiness::Polled && !keys.bus.poll_before_data {
        fail(
            "bus.poll_before_data: with bus.readiness = \"polled\" a read is known to be done by \
             its status alone; set bus.poll_before_data = true"
                .to_string(),
        );
    }
    let policy = BusRule::of(keys);
    let why = match &policy {
        BusRule::BuiltIn(AnyBusPolicy::Framework(_)) => "serves one operation a die to its end",
        policy if policy.gates_dispatch() => "serves operations in the order of arrival",
        _ => return,
    };
    let nand = &keys.nand;
    if nand.program_suspends > 0 || nand.erase_suspends > 0 {
        let family = match keys.firmware.family {
            FirmwareFamily::None => "",
            _ => ", with firmware.family = \"none\"",
        };
        fail(format!(
            "channel.arbitration: this policy {why}, and an operation that is suspended would hold \
             up those behind it; set nand.program_suspends = 0 and nand.erase_suspends = 0{family}"
        ));
    }
    if nand.cache_read {
        fail(format!(
            "nand.cache_read: the bus policy {why}, so no read begins before the data of the one \
             before it have left; set nand.cache_read = false"
        ));
    }
    if keys.firmware.stalls_programs() && policy.gates_dispatch() {
        fail(format!(
            "firmware.stall_holds: the bus policy {why}, and programs that wait for the end of a \
             stall would hold up reads; set firmware.stall_holds = \"writes\""
        ));
    }
    let limits_power = keys.energy.budget_mw > 0 || keys.energy.max_active_dies > 0;
    if limits_power && policy.gates_dispatch() {
        fail(format!(
            "energy.budget_mw: the bus policy {why}, and dies that wait for power would hold up \
             the others; set energy.budget_mw = 0 and energy.max_active_dies = 0"
        ));
    }
}
