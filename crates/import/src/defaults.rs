//! What MQSim takes for keys that a device file lacks: the values with which its source declares
//! them. They differ from those of the file that comes with MQSim, on which `mqsim-default` is
//! based.

use crate::xml::{Entry, Group};

/// Keys of `Host_Parameter_Set`.
const HOST: &[(&str, &str)] = &[
    ("PCIe_Lane_Bandwidth", "0.4"),
    ("PCIe_Lane_Count", "4"),
    ("SATA_Processing_Delay", "0"),
    ("Enable_ResponseTime_Logging", "false"),
    ("ResponseTime_Logging_Period_Length", "400000"),
];

/// Keys of `Device_Parameter_Set`.
const DEVICE: &[(&str, &str)] = &[
    ("Seed", "123"),
    ("Enabled_Preconditioning", "true"),
    ("Memory_Type", "FLASH"),
    ("HostInterface_Type", "NVME"),
    ("IO_Queue_Depth", "1024"),
    ("Queue_Fetch_Size", "512"),
    ("Caching_Mechanism", "ADVANCED"),
    ("Data_Cache_Sharing_Mode", "SHARED"),
    ("Data_Cache_Capacity", "536870912"),
    ("Data_Cache_DRAM_Row_Size", "8192"),
    ("Data_Cache_DRAM_Data_Rate", "800"),
    ("Data_Cache_DRAM_Data_Busrt_Size", "4"),
    ("Data_Cache_DRAM_tRCD", "13"),
    ("Data_Cache_DRAM_tCL", "13"),
    ("Data_Cache_DRAM_tRP", "13"),
    ("Address_Mapping", "PAGE_LEVEL"),
    ("Ideal_Mapping_Table", "false"),
    ("CMT_Capacity", "2097152"),
    ("CMT_Sharing_Mode", "SHARED"),
    ("Plane_Allocation_Scheme", "CWDP"),
    ("Transaction_Scheduling_Policy", "OUT_OF_ORDER"),
    ("Overprovisioning_Ratio", "0.07"),
    ("GC_Exec_Threshold", "0.05"),
    ("GC_Block_Selection_Policy", "RGA"),
    ("Use_Copyback_for_GC", "false"),
    ("Preemptible_GC_Enabled", "true"),
    ("GC_Hard_Threshold", "0.005"),
    ("Dynamic_Wearleveling_Enabled", "true"),
    ("Static_Wearleveling_Enabled", "true"),
    ("Static_Wearleveling_Threshold", "100"),
    ("Preferred_suspend_erase_time_for_read", "700000"),
    ("Preferred_suspend_erase_time_for_write", "700000"),
    ("Preferred_suspend_write_time_for_read", "100000"),
    ("Flash_Channel_Count", "8"),
    ("Flash_Channel_Width", "1"),
    ("Channel_Transfer_Rate", "300"),
    ("Chip_No_Per_Channel", "4"),
    ("Flash_Comm_Protocol", "NVDDR2"),
];

/// Keys of `Flash_Parameter_Set`.
const FLASH: &[(&str, &str)] = &[
    ("Flash_Technology", "MLC"),
    ("CMD_Suspension_Support", "ERASE"),
    ("Page_Read_Latency_LSB", "75000"),
    ("Page_Read_Latency_CSB", "75000"),
    ("Page_Read_Latency_MSB", "75000"),
    ("Page_Program_Latency_LSB", "750000"),
    ("Page_Program_Latency_CSB", "750000"),
    ("Page_Program_Latency_MSB", "750000"),
    ("Block_Erase_Latency", "3800000"),
    ("Block_PE_Cycles_Limit", "10000"),
    ("Suspend_Erase_Time", "700000"),
    ("Suspend_Program_Time", "100000"),
    ("Die_No_Per_Chip", "2"),
    ("Plane_No_Per_Die", "2"),
    ("Block_No_Per_Plane", "2048"),
    ("Page_No_Per_Block", "256"),
    ("Page_Capacity", "8192"),
    ("Page_Metadat_Capacity", "1872"),
];

/// Gives a device file the keys and the groups that it lacks.
pub(crate) fn complete(root: &mut Group) {
    fill(group(root, "Host_Parameter_Set"), HOST);
    let device = group(root, "Device_Parameter_Set");
    fill(device, DEVICE);
    fill(group(device, "Flash_Parameter_Set"), FLASH);
}

/// The group of this name inside, which is made if it is not there.
fn group<'a>(outer: &'a mut Group, name: &str) -> &'a mut Group {
    let known = outer.groups.iter().position(|group| group.name == name);
    let at = known.unwrap_or(outer.groups.len());
    if known.is_none() {
        let (name, place) = (name.to_string(), outer.place.clone());
        outer.groups.push(Group { name, place, ..Group::default() });
    }
    &mut outer.groups[at]
}

/// Adds the keys that a group lacks. One that stands there without a value is a mistake and gets
/// none.
fn fill(group: &mut Group, defaults: &[(&str, &str)]) {
    for (name, value) in defaults {
        let is_there = group.entries.iter().any(|entry| entry.name == *name)
            || group.groups.iter().any(|inner| inner.name == *name);
        if !is_there {
            let (name, value) = ((*name).to_string(), (*value).to_string());
            let place = group.place.clone();
            group.entries.push(Entry { name, value, place, line: 0, is_default: true });
        }
    }
}
