//! What several keys of MQSim depend on: the shape of its device, its host interface, its flows.

use crate::found::whole;
use crate::xml::Group;

/// What other keys depend on. Without a device file it is as in `mqsim-default`.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Channels, chips of a channel, dies of a chip, planes of a die.
    pub(crate) shape: [u64; 4],
    pub(crate) blocks: u64,
    pub(crate) pages: u64,
    pub(crate) page_bytes: u64,
    pub(crate) bits_per_cell: u64,
    pub(crate) read_ns: u64,
    pub(crate) program_ns: u64,
    pub(crate) is_sata: bool,
    pub(crate) is_preconditioned: bool,
    pub(crate) has_ideal_map: bool,
    pub(crate) logs: bool,
    /// Whether MQSim's scheduler looks at priority classes.
    pub(crate) has_priorities: bool,
    pub(crate) link_gb_per_s: f64,
    /// Megatransfers a second of a channel, and bytes of one.
    pub(crate) transfers: (u64, u64),
    /// The same of the memory of the data cache.
    pub(crate) dram_transfers: (u64, u64),
    pub(crate) dram_ns: u64,
    pub(crate) cache_bytes: u64,
    pub(crate) queue_depth: u64,
    pub(crate) flows: Flows,
}

/// What the device must know of the flows.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    /// Flows of the scenario that has most.
    pub(crate) most: usize,
    /// Whether a flow has its writes cached. Without flows it does: so MQSim's default ones.
    pub(crate) write_cache: bool,
    /// Percent of the device that is written at the start: the mean of the flows.
    pub(crate) occupancy: Option<f64>,
}

impl Facts {
    pub(crate) fn new(root: &Group, flows: Flows) -> Self {
        let host = root.inside("Host_Parameter_Set");
        let device = root.inside("Device_Parameter_Set");
        let flash = device.inside("Flash_Parameter_Set");
        let of = |group: &Group, name: &str, default: u64| {
            group.get::<u64>(name).filter(|value| *value > 0).unwrap_or(default)
        };
        let bits = [("SLC", 1), ("TLC", 3)];
        let bits = bits.iter().find(|(name, _)| flash.is("Flash_Technology", name));
        let lane = host.get::<f64>("PCIe_Lane_Bandwidth").filter(|lane| *lane > 0.0);
        Self {
            shape: [
                of(&device, "Flash_Channel_Count", 8),
                of(&device, "Chip_No_Per_Channel", 4),
                of(&flash, "Die_No_Per_Chip", 2),
                of(&flash, "Plane_No_Per_Die", 2),
            ],
            blocks: of(&flash, "Block_No_Per_Plane", 2_048),
            pages: of(&flash, "Page_No_Per_Block", 256),
            page_bytes: of(&flash, "Page_Capacity", 8_192),
            bits_per_cell: bits.map_or(2, |(_, bits)| *bits),
            read_ns: of(&flash, "Page_Read_Latency_LSB", 75_000),
            program_ns: of(&flash, "Page_Program_Latency_LSB", 750_000),
            is_sata: device.is("HostInterface_Type", "SATA"),
            is_preconditioned: device.is("Enabled_Preconditioning", "true"),
            has_ideal_map: device.is("Ideal_Mapping_Table", "true"),
            logs: host.is("Enable_ResponseTime_Logging", "true"),
            has_priorities: device.is("Transaction_Scheduling_Policy", "PRIORITY_OUT_OF_ORDER"),
            link_gb_per_s: lane.unwrap_or(1.0) * of(&host, "PCIe_Lane_Count", 4) as f64,
            transfers: (
                of(&device, "Channel_Transfer_Rate", 333),
                of(&device, "Flash_Channel_Width", 1),
            ),
            dram_transfers: (
                of(&device, "Data_Cache_DRAM_Data_Rate", 100),
                of(&device, "Data_Cache_DRAM_Data_Busrt_Size", 1),
            ),
            dram_ns: of(&device, "Data_Cache_DRAM_tRCD", 13)
                + of(&device, "Data_Cache_DRAM_tCL", 13),
            cache_bytes: of(&device, "Data_Cache_Capacity", 268_435_456),
            queue_depth: of(&device, "IO_Queue_Depth", 65_535),
            flows,
        }
    }

    /// Planes of the device.
    pub(crate) fn planes(&self) -> u64 {
        self.shape.iter().fold(1, |product, count| product.saturating_mul(*count))
    }

    /// Bytes of an entry of MQSim's map in its cache, and on flash: logical page (cache alone),
    /// physical page, and a bit for each sector, rounded up to bytes.
    pub(crate) fn entry_bytes(&self) -> (u64, u64) {
        let pages = self.planes() as f64 * self.blocks as f64 * self.pages as f64;
        let sectors = (self.page_bytes / 512) as f64;
        let bytes = |bits: f64| whole((bits / 8.0).ceil());
        (bytes(2.0 * pages.log2() + sectors), bytes(pages.log2() + sectors))
    }
}
