//! Handles: the places of sets, requests and lines in the slabs of their rooms.

use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::graph::NIL;
use std::num::NonZeroU32;

/// Makes a handle. It keeps the complement of its place, so that `Option` of it takes no more room.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The handle of a place; panics at `u32::MAX`, which stands for none.
            #[inline]
            pub const fn new(place: u32) -> Self {
                Self::from_raw(place).expect("a place that stands for none")
            }

            /// The same; [`NIL`] is none.
            #[inline]
            pub const fn from_raw(place: u32) -> Option<Self> {
                match NonZeroU32::new(!place) {
                    Some(place) => Some(Self(place)),
                    None => None,
                }
            }

            /// The place of a handle, [`NIL`] for none.
            #[inline]
            pub fn raw(handle: Option<Self>) -> u32 {
                handle.map_or(NIL, Self::get)
            }

            /// Its place.
            #[inline]
            pub const fn get(self) -> u32 {
                !self.0.get()
            }

            /// Its place, to index a slab with.
            #[inline]
            pub const fn index(self) -> usize {
                self.get() as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.get())
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.get().cmp(&other.get())
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        const _: () = assert!(size_of::<Option<$name>>() == 4);
    };
}

handle! {
    /// A command set under way.
    SetId
}

handle! {
    /// A request that has arrived and whose work is not over.
    RequestId
}

handle! {
    /// A line of the write buffer.
    LineId
}

impl Saved for Option<SetId> {
    fn save(&self, to: &mut Writer<'_>) {
        SetId::raw(*self).save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let mut place = 0u32;
        place.load(from)?;
        *self = SetId::from_raw(place);
        Ok(())
    }
}
