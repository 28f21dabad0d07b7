//! Memory that the caller lends: an object at its start, and the slices that the object uses.

use crate::types::FY_ALIGN;
use core::alloc::Layout;

/// Where the slices of an object of type `H` are in its memory, in bytes from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    layout: Layout,
}

impl Plan {
    /// An object, and nothing else yet.
    pub(crate) const fn of<H>() -> Self {
        Self { layout: Layout::new::<H>() }
    }

    /// Places so many values behind what there is; returns where they begin. None if that is more
    /// than memory can hold.
    pub(crate) fn slice<T>(&mut self, count: usize) -> Option<usize> {
        let (layout, place) = self.layout.extend(Layout::array::<T>(count).ok()?).ok()?;
        self.layout = layout;
        Some(place)
    }

    /// The bytes that all of it takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.layout.pad_to_align().size()
    }

    /// Whether lent memory of so many bytes can hold all of it.
    pub(crate) fn fits(&self, memory: *mut u8, bytes: usize) -> bool {
        let is_aligned = memory.addr().is_multiple_of(self.layout.align());
        !memory.is_null() && is_aligned && bytes >= self.bytes()
    }
}

/// Fills `count` values at a place of lent memory.
///
/// # Safety
///
/// `memory` is valid for writes up to the end of the values for all of `'a`, aligned for them at
/// the place, and nothing else uses that part of it.
#[expect(unsafe_code, reason = "lent memory becomes a slice")]
pub(crate) unsafe fn slice<'a, T: Copy>(
    memory: *mut u8,
    place: usize,
    count: usize,
    value: T,
) -> &'a mut [T] {
    // SAFETY: the caller says that the memory reaches to the end of the values.
    let first = unsafe { memory.add(place) }.cast::<T>();
    for index in 0..count {
        // SAFETY: as above; the place is aligned, so every value is.
        let value_at = unsafe { first.add(index) };
        // SAFETY: as above.
        unsafe { value_at.write(value) };
    }
    // SAFETY: the values have just been written, and nothing else uses them.
    unsafe { core::slice::from_raw_parts_mut(first, count) }
}

/// No object needs a greater alignment than the header promises.
pub(crate) const fn is_aligned_enough<T>() -> bool {
    align_of::<T>() <= FY_ALIGN
}
