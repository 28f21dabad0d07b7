//! What comes over the border: texts and lists behind pointers.

#![expect(unsafe_code, reason = "the border to C")]

use core::ffi::{CStr, c_char};

/// The text behind a pointer; none where it is null or no UTF-8.
///
/// # Safety
///
/// The pointer is null, or a text that ends in a zero byte and stays as it is during the call.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: it is not null, and what the caller promises is what is needed.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().ok()
}

/// What is said of an argument of this name.
pub(crate) fn null(name: &str) -> String {
    format!("`{name}` is a null pointer")
}

/// The list of this name behind a pointer, which may be null where it is empty.
///
/// # Safety
///
/// The pointer is null, or that many values are behind it, which stay as they are during the call.
pub(crate) unsafe fn list<'a, T>(
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T], String> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: it is not null, and what the caller promises is what is needed.
    Ok(unsafe { core::slice::from_raw_parts(pointer, count) })
}

/// Copies a text with a zero byte behind it, as much as fits; returns the bytes that all of it
/// needs.
///
/// # Safety
///
/// The pointer is null, or that many bytes behind it may be written.
pub(crate) unsafe fn give(text: &str, to: *mut c_char, size: usize) -> usize {
    let text = text.replace('\0', " ");
    if !to.is_null() && size > 0 {
        let mut end = text.len().min(size - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: `end` is below `size`, and the two do not overlap: one of them was just made.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, end) };
        // SAFETY: `end` is below `size`.
        let last = unsafe { to.add(end) };
        // SAFETY: it is one of the bytes that may be written.
        unsafe { last.write(0) };
    }
    text.len() + 1
}
