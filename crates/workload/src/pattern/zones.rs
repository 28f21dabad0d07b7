//! Requests to zones: a range of whole zones, appends, and actions.

use super::PatternKeys;
use crate::error::WorkloadError;
use flashyard_core::request::{Flags, Request, RequestOp, ZoneAction};

/// The zones of a device, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneGrid {
    /// How many there are.
    pub count: u64,
    /// The distance of the first sectors of two zones.
    pub size: u64,
    /// Sectors of a zone that can be written.
    pub capacity: u64,
}

/// What a pattern does on zones.
#[derive(Clone, Debug)]
pub(super) struct InZones {
    grid: ZoneGrid,
    first: u64,
    /// Zones of the range; 0 where it is no range of zones.
    zones: u64,
    append: bool,
    action: Option<ZoneAction>,
    /// Actions so far.
    done: u64,
}

impl InZones {
    /// None where the keys ask for nothing that needs zones.
    pub(super) fn new(
        keys: &PatternKeys,
        grid: Option<ZoneGrid>,
    ) -> Result<Option<Box<Self>>, WorkloadError> {
        let action = keys.zone_action.asked();
        let asked = [
            (keys.zones > 0, "pattern.zones"),
            (keys.append, "pattern.append"),
            (action.is_some(), "pattern.zone_action"),
        ];
        let Some((_, key)) = asked.into_iter().find(|(asked, _)| *asked) else { return Ok(None) };
        let wrong = |key, what: &str, fix: &str| {
            Err(WorkloadError::Key { key, what: what.to_owned(), fix: fix.to_owned() })
        };
        let Some(grid) = grid else {
            let fix = "take a device with ftl.scheme = \"zns\", as zn540-zns";
            return wrong(key, "the device has no zones", fix);
        };
        if action.is_some() && keys.zones == 0 {
            return wrong("pattern.zones", "actions need a range of zones", "set it to 1 or more");
        }
        if keys.first_zone + keys.zones > grid.count {
            let what = format!("the range ends behind the {} zones of the device", grid.count);
            return wrong("pattern.zones", &what, "lower pattern.first_zone or pattern.zones");
        }
        if keys.zones > 1 && action.is_none() && grid.size > grid.capacity {
            let what = "there are gaps between zones, where requests would lie";
            return wrong("pattern.zones", what, "set it to 1, or ftl.zns.size_bytes = 0");
        }
        let (first, zones, append) = (keys.first_zone, keys.zones, keys.append);
        Ok(Some(Box::new(Self { grid, first, zones, append, action, done: 0 })))
    }

    /// The first sector of the range, and how many it has.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        let ZoneGrid { size, capacity, .. } = self.grid;
        let length = self.zones.checked_sub(1).map(|others| others * size + capacity)?;
        Some((self.first * size, length))
    }

    /// The request in place of one that knows nothing of zones.
    pub(super) fn turn(&mut self, request: Request) -> Request {
        if let Some(action) = self.action {
            let zone = self.first + self.done % self.zones;
            self.done += 1;
            return Request::zone(action, zone * self.grid.size).at(request.arrival);
        }
        if self.append && request.op == RequestOp::Write {
            let start = request.first_sector / self.grid.size * self.grid.size;
            let flags = request.flags.with(Flags::APPEND);
            return request.over(start, request.sectors).with(flags);
        }
        request
    }
}
