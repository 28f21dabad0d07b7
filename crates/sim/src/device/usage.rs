//! How busy dies and channels were between the first arrival and the last completion of measured
//! time.

use super::Device;
use crate::account::usage::Usage;

impl Device {
    /// The work that dies and channels have done until now.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            dies: self.flash.worked(self.now).collect(),
            channels: self.flash.carried(self.now).collect(),
        }
    }
}
