//! Devices that C drives.

#![expect(unsafe_code, reason = "the border to C")]

use crate::border::{give, list, null, text};
use crate::policies;
use crate::types::{
    FY_NEVER, FY_NO_PLACEMENT, FY_PARTS, FyCompletion, FyCut, FyFigures, FyHandle, FyHostOp,
    FyHostRequest, FyHow, FyLost, FyOptions, FyStatus, FyZone, FyZoneState,
};
use core::ffi::c_char;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_run::error::panic_text;
use flashyard_run::plan::Plan;
use flashyard_sim::cut::{Cut, How, Lost};
use flashyard_sim::device::SimError;
use flashyard_sim::metrics::parts::{PARTS, Part};
use flashyard_sim::session::{Completion, Outcome, Refused, Session, Stop, ZoneReport, ZoneState};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

const _: () = {
    assert!(FY_PARTS == PARTS, "the header knows every part");
    assert!(FyHostOp::Read as u32 == RequestOp::Read as u32);
    assert!(FyHostOp::Write as u32 == RequestOp::Write as u32);
    assert!(FyHostOp::Trim as u32 == RequestOp::Trim as u32);
    assert!(FyHostOp::Flush as u32 == RequestOp::Flush as u32);
    assert!(FyHow::Corrupt as u32 == How::Corrupt as u32);
    assert!(How::ALL.len() == FyHow::Corrupt as usize + 1);
};

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// A simulated device.
pub struct FyDevice {
    plan: Plan,
    /// None once the report was made, or after a failure.
    session: Option<Session>,
    report: Option<String>,
    /// The numbers of requests that are not over, by identifier.
    cookies: BTreeMap<u64, u64>,
    /// Requests that were over when the power failed, and have not been asked for.
    left: VecDeque<FyCompletion>,
    /// The last failure.
    error: String,
}

impl core::fmt::Debug for FyDevice {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FyDevice").field("session", &self.session).finish_non_exhaustive()
    }
}

/// A failure: its code and its text.
type Failure = (FyStatus, String);

impl FyDevice {
    fn new(plan: Plan, session: Session) -> Self {
        let (session, report, error) = (Some(session), None, String::new());
        let (cookies, left) = (BTreeMap::new(), VecDeque::new());
        Self { plan, session, report, cookies, left, error }
    }

    fn session(&mut self) -> Result<&mut Session, Failure> {
        let ended = || (FyStatus::Closed, "the device has ended".to_string());
        self.session.as_mut().ok_or_else(ended)
    }

    fn submit(&mut self, asked: &FyHostRequest) -> Result<(), Failure> {
        let request = request(asked)?;
        let refused = |refused: Refused| {
            let status = match refused {
                Refused::Past { .. } => FyStatus::Past,
                Refused::Range(_) => FyStatus::Range,
                Refused::Order { .. } => FyStatus::Order,
                Refused::Full => FyStatus::Full,
                Refused::Stream { .. } | Refused::NoZones => FyStatus::Argument,
                Refused::Closed => FyStatus::Closed,
            };
            (status, refused.to_string())
        };
        let id = self.session()?.submit(&request).map_err(refused)?;
        self.cookies.insert(id, asked.cookie);
        Ok(())
    }

    /// The completion of a request, whose number is forgotten.
    fn completion(&mut self, over: &Completion) -> FyCompletion {
        let cookie = self.cookies.remove(&over.id).expect("a request is over once");
        let (offset, status) = match over.outcome {
            Outcome::Done => (0, 0),
            Outcome::Appended(sector) => (sector * SECTOR, 0),
            Outcome::Failed(error) => (0, error.status().into()),
        };
        let (at_ns, parts_ns) = (over.at.as_ns(), over.parts.0);
        FyCompletion { cookie, at_ns, parts_ns, offset, status, reserved: 0 }
    }

    /// A request that is over and has not been asked for.
    fn next_over(&mut self) -> Result<Option<FyCompletion>, Failure> {
        if let Some(left) = self.left.pop_front() {
            return Ok(Some(left));
        }
        let over = self.session()?.poll();
        Ok(over.map(|over| self.completion(&over)))
    }

    /// Until so many requests are over, or a time has come.
    fn advance(
        &mut self,
        until: Time,
        room: usize,
        mut give: impl FnMut(usize, FyCompletion),
    ) -> Result<usize, Failure> {
        let failed = |error: SimError| (FyStatus::Device, error.to_string());
        let mut count = 0;
        if room == 0 {
            self.session()?.advance(until, Stop::At).map_err(failed)?;
            return Ok(0);
        }
        loop {
            while count < room {
                let Some(over) = self.next_over()? else { break };
                give(count, over);
                count += 1;
            }
            if count == room {
                return Ok(count);
            }
            let session = self.session()?;
            session.advance(until, Stop::AtCompletion).map_err(failed)?;
            if !session.has_completions() {
                return Ok(count);
            }
        }
    }

    /// The power fails, and the device goes on with what recovery finds.
    fn cut(&mut self, seed: u64) -> Result<Cut, Failure> {
        if !self.session()?.can_be_cut() {
            return Err((FyStatus::Input, SimError::NoCut.to_string()));
        }
        let failed = |error: SimError| (FyStatus::Device, error.to_string());
        self.session()?.end_instant().map_err(failed)?;
        while let Some(over) = self.session()?.poll() {
            let over = self.completion(&over);
            self.left.push_back(over);
        }
        let session = self.session.take().expect("there is one");
        let (drive, cut) = session.cut(seed).map_err(failed)?;
        self.session = Some(Session::new(drive));
        self.cookies.clear();
        Ok(cut)
    }

    fn report(&mut self) -> Result<&str, Failure> {
        if self.report.is_none() {
            let ended = || (FyStatus::Closed, "the device has failed".to_string());
            let session = self.session.take().ok_or_else(ended)?;
            let report = session.finish().map_err(|error| (FyStatus::Device, error.to_string()))?;
            let object = self.plan.object_of_session(&report);
            let text = serde_json::to_string(&object);
            self.report = Some(text.map_err(|error| (FyStatus::Panic, error.to_string()))?);
        }
        Ok(self.report.as_deref().unwrap_or_default())
    }
}

/// A request as the simulator has it.
fn request(asked: &FyHostRequest) -> Result<Request, Failure> {
    let wrong = |what: String| (FyStatus::Argument, what);
    let op = usize::try_from(asked.op).ok().and_then(|op| RequestOp::ALL.get(op)).copied();
    let op = op.ok_or_else(|| wrong(format!("operation {}: there are 0 to 3", asked.op)))?;
    let whole = asked.offset.is_multiple_of(SECTOR) && asked.bytes.is_multiple_of(SECTOR);
    let FyHostRequest { offset, bytes, .. } = asked;
    if !whole {
        return Err(wrong(format!(
            "offset {offset}, {bytes} bytes: both are whole sectors of 512 bytes"
        )));
    }
    let sectors = u32::try_from(bytes / SECTOR)
        .map_err(|_| wrong(format!("{bytes} bytes: a request has less than 2 TiB")))?;
    let flags = u8::try_from(asked.flags).ok().and_then(Flags::from_bits);
    let flags = flags.filter(|_| asked.reserved == 0).ok_or_else(|| {
        wrong(format!("flags {}, reserved {}: unknown", asked.flags, asked.reserved))
    })?;
    let placement = Some(asked.placement).filter(|placement| *placement != FY_NO_PLACEMENT);
    let request = Request::new(op, asked.offset / SECTOR, sectors)
        .at(Time::from_ns(asked.at_ns))
        .of_stream(asked.stream)
        .placed(placement)
        .with(flags);
    if sectors == 0 && op != RequestOp::Flush && request.zone_action().is_none() {
        let text = "it has no bytes; only a flush and an action on a zone have none";
        return Err(wrong(text.to_string()));
    }
    Ok(request)
}

/// Does something with a device; a failure is noted in it.
///
/// # Safety
///
/// The pointer is null, or a device that `fy_open` or `fy_fork` gave and nobody else uses
/// meanwhile.
unsafe fn with<T>(
    device: *mut FyDevice,
    work: impl FnOnce(&mut FyDevice) -> Result<T, Failure>,
) -> Result<T, FyStatus> {
    // SAFETY: the caller promises it.
    let device = unsafe { device.as_mut() }.ok_or(FyStatus::Argument)?;
    let done = catch_unwind(AssertUnwindSafe(|| work(device)));
    let done = done.unwrap_or_else(|panic| Err((FyStatus::Panic, panic_text(&*panic))));
    done.map_err(|(status, text)| {
        if matches!(status, FyStatus::Panic | FyStatus::Device) {
            // What is left of it may be in any state.
            device.session = None;
        }
        device.error = text;
        status
    })
}

/// What a call writes to; a failure that names it where it is null.
///
/// # Safety
///
/// The pointer is null, or may be written, and nobody else uses what is there meanwhile.
unsafe fn output<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer.as_mut() }.ok_or_else(|| is_null(name))
}

fn is_null(name: &str) -> Failure {
    (FyStatus::Argument, null(name))
}

/// What became of a call.
fn status(done: Result<(), FyStatus>) -> FyStatus {
    done.map_or_else(|status| status, |()| FyStatus::Ok)
}

/// A count, or the code of a failure.
fn count(found: Result<usize, FyStatus>) -> i64 {
    match found {
        Ok(count) => i64::try_from(count).unwrap_or(i64::MAX),
        Err(status) => status as i64,
    }
}

/// Makes a device. Null where there can be no such device: `error` has the reason then, cut to
/// `error_size` bytes.
///
/// # Safety
///
/// `options` points to options whose pointers are as they say; `error` is null or has `error_size`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_open(
    options: *const FyOptions,
    error: *mut c_char,
    error_size: usize,
) -> *mut FyDevice {
    let open = || -> Result<FyDevice, String> {
        // SAFETY: the caller promises it.
        let options = unsafe { options.as_ref() }.ok_or("options are needed")?;
        // SAFETY: the caller promises it.
        let device = unsafe { text(options.device) }.ok_or("the name of a device is needed")?;
        // SAFETY: the caller promises it.
        let settings = unsafe { list("settings", options.settings, options.settings_count) }?;
        let mut set = Vec::new();
        for setting in settings {
            // SAFETY: the caller promises it.
            let setting = unsafe { text(*setting) }.ok_or("a setting is no text")?;
            set.push(("setting", setting.to_string()));
        }
        // SAFETY: the caller promises it.
        let own = unsafe { policies::parts(options) }?;
        let plan = Plan::of_device(own, device, &set).map_err(|error| format!("{error:#}"))?;
        let session = plan.session(options.check).map_err(|error| format!("{error:#}"))?;
        Ok(FyDevice::new(plan, session))
    };
    let opened =
        catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|panic| Err(panic_text(&*panic)));
    match opened {
        Ok(device) => Box::into_raw(Box::new(device)),
        Err(what) => {
            // SAFETY: the caller promises it.
            unsafe { give(&what, error, error_size) };
            core::ptr::null_mut()
        }
    }
}

/// Submits requests in the order of the list, up to the first that is refused; returns how many
/// were taken. Where none was, the code of the refusal, and `fy_error` has its text. A request
/// whose time is `fy_now` after `fy_advance` has returned completions takes part in that instant.
///
/// # Safety
///
/// `device` is one that is open; `requests` has that many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_submit(
    device: *mut FyDevice,
    requests: *const FyHostRequest,
    requests_count: usize,
) -> i64 {
    let submit = |device: &mut FyDevice| {
        // SAFETY: the caller promises it.
        let requests = unsafe { list("requests", requests, requests_count) };
        let requests = requests.map_err(|what| (FyStatus::Argument, what))?;
        for (taken, request) in requests.iter().enumerate() {
            if let Err(failure) = device.submit(request) {
                device.error.clone_from(&failure.1);
                return if taken > 0 { Ok(taken) } else { Err(failure) };
            }
        }
        Ok(requests.len())
    };
    // SAFETY: the caller promises it.
    count(unsafe { with(device, submit) })
}

/// A zone by its number, as the requests that the device has started have left it.
/// `FY_STATUS_RANGE` where there is no such zone.
///
/// # Safety
///
/// `device` is one that is open; `zone` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_zone(
    device: *mut FyDevice,
    number: u32,
    zone: *mut FyZone,
) -> FyStatus {
    let found = |device: &mut FyDevice| {
        let none = || (FyStatus::Range, format!("there is no zone {number}"));
        // SAFETY: the caller promises that it may be written.
        let to = unsafe { output(zone, "zone") }?;
        *to = zone_of(&device.session()?.zone(number).ok_or_else(none)?);
        Ok(())
    };
    // SAFETY: the caller promises it.
    status(unsafe { with(device, found) })
}

/// A zone in the layout of C.
fn zone_of(found: &ZoneReport) -> FyZone {
    let state = match found.state {
        ZoneState::Empty => FyZoneState::Empty,
        ZoneState::ImplicitlyOpen => FyZoneState::ImplicitlyOpen,
        ZoneState::ExplicitlyOpen => FyZoneState::ExplicitlyOpen,
        ZoneState::Closed => FyZoneState::Closed,
        ZoneState::Full => FyZoneState::Full,
        ZoneState::ReadOnly => FyZoneState::ReadOnly,
        ZoneState::Offline => FyZoneState::Offline,
    };
    FyZone {
        offset: found.first_sector * SECTOR,
        capacity: found.capacity * SECTOR,
        write_pointer: found.write_pointer * SECTOR,
        state,
        reserved: 0,
    }
}

/// A placement handle by its number (`placement.handles`): what its reclaim unit can still take,
/// and what its data have cost. `FY_STATUS_RANGE` where there is no such handle, or where its data
/// go to blocks that are not its own.
///
/// # Safety
///
/// `device` is one that is open; `handle` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_handle(
    device: *mut FyDevice,
    number: u8,
    handle: *mut FyHandle,
) -> FyStatus {
    let found = |device: &mut FyDevice| {
        let none = || (FyStatus::Range, format!("there is no placement handle {number}"));
        // SAFETY: the caller promises that it may be written.
        let to = unsafe { output(handle, "handle") }?;
        let found = device.session()?.handle(number).ok_or_else(none)?;
        *to = FyHandle {
            available_bytes: found.available_bytes,
            unit_bytes: found.unit_bytes,
            host_bytes: found.host_bytes,
            media_bytes: found.media_bytes,
            erased_bytes: found.erased_bytes,
        };
        Ok(())
    };
    // SAFETY: the caller promises it.
    status(unsafe { with(device, found) })
}

/// No request comes any more: idle work of the end may begin when the last one is under way.
///
/// # Safety
///
/// `device` is one that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_no_more(device: *mut FyDevice) -> FyStatus {
    // SAFETY: the caller promises it.
    status(unsafe { with(device, |device| device.session().map(Session::close)) })
}

/// A time before which no request is over, in nanoseconds from the start; `FY_NEVER` where nothing
/// is pending. A caller with a clock of its own needs one wake-up there, and sets it anew after
/// each `fy_submit` and `fy_advance`.
///
/// # Safety
///
/// `device` is one that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_next(device: *mut FyDevice) -> u64 {
    let next = |device: &mut FyDevice| {
        let is_left = !device.left.is_empty();
        let session = device.session()?;
        Ok(if is_left { Some(session.now()) } else { session.next_event() })
    };
    // SAFETY: the caller promises it.
    let next = unsafe { with(device, next) };
    next.ok().flatten().map_or(FY_NEVER, Time::as_ns)
}

/// Lets time go on until `until_ns`, or until `completions_size` requests are over; returns how
/// many are in `completions`, in the order in which they were over, or the code of a failure.
/// `FY_NEVER` as the time means as long as anything happens. With room for none, time goes on to
/// `until_ns`, and later calls return what was over.
///
/// # Safety
///
/// `device` is one that is open; `completions` has room for that many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_advance(
    device: *mut FyDevice,
    until_ns: u64,
    completions: *mut FyCompletion,
    completions_size: usize,
) -> i64 {
    let room = if completions.is_null() { 0 } else { completions_size };
    let advance = |device: &mut FyDevice| {
        let until = if until_ns == FY_NEVER { Time::MAX } else { Time::from_ns(until_ns) };
        device.advance(until, room, |place, over| {
            // SAFETY: `place` is below the room.
            let to = unsafe { completions.add(place) };
            // SAFETY: the caller promises that it may be written.
            unsafe { to.write(over) };
        })
    };
    // SAFETY: the caller promises it.
    count(unsafe { with(device, advance) })
}

/// The time of the device, in nanoseconds from the start; `FY_NEVER` where it has ended.
///
/// # Safety
///
/// `device` is one that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_now(device: *mut FyDevice) -> u64 {
    // SAFETY: the caller promises it.
    let now = unsafe { with(device, |device| Ok(device.session()?.now())) };
    now.map_or(FY_NEVER, Time::as_ns)
}

/// Bytes that the host sees of the device; 0 where it has ended.
///
/// # Safety
///
/// `device` is one that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_capacity(device: *mut FyDevice) -> u64 {
    let sectors = |device: &mut FyDevice| Ok(device.session()?.capacity_sectors());
    // SAFETY: the caller promises it.
    unsafe { with(device, sectors) }.map_or(0, |sectors| sectors * SECTOR)
}

/// Requests that were submitted and are not over, or the code of a failure.
///
/// # Safety
///
/// `device` is one that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_outstanding(device: *mut FyDevice) -> i64 {
    let outstanding = |device: &mut FyDevice| {
        let outstanding = device.session()?.outstanding();
        Ok(usize::try_from(outstanding).unwrap_or(usize::MAX))
    };
    // SAFETY: the caller promises it.
    count(unsafe { with(device, outstanding) })
}

/// What the device has done so far.
///
/// # Safety
///
/// `device` is one that is open; `figures` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_figures(device: *mut FyDevice, figures: *mut FyFigures) -> FyStatus {
    let of = |device: &mut FyDevice| {
        // SAFETY: the caller promises that it may be written.
        let to = unsafe { output(figures, "figures") }?;
        let found = device.session()?.figures();
        let whole = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        *to = FyFigures {
            read_bytes: found.read_bytes,
            written_bytes: found.written_bytes,
            programmed_bytes: whole(found.programmed_bytes),
            erased_blocks: found.erased_blocks,
            operations_pj: whole(found.operations_pj),
            write_amplification: found.write_amplification().unwrap_or(0.0),
        };
        Ok(())
    };
    // SAFETY: the caller promises it.
    status(unsafe { with(device, of) })
}

/// Copies a device with all that is under way. From here the copy runs independently, and has to be
/// closed as well. Returns null if the device has ended.
///
/// # Safety
///
/// `device` is one that is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_fork(device: *mut FyDevice) -> *mut FyDevice {
    let fork = |device: &mut FyDevice| {
        let session = device.session()?.fork();
        let mut copy = FyDevice::new(device.plan.clone(), session);
        copy.cookies.clone_from(&device.cookies);
        copy.left.clone_from(&device.left);
        Ok(Box::new(copy))
    };
    // SAFETY: the caller promises it.
    unsafe { with(device, fork) }.map_or(core::ptr::null_mut(), Box::into_raw)
}

/// The power of a device fails, and is back at once. The device goes on with what recovery finds:
/// its time stays, requests that were not over are never answered, and new ones wait until recovery
/// is over. What was over by then and was not asked for, `fy_advance` returns afterwards. Writes
/// what that has done, and up to `size` units that have lost something, the first
/// ones. Returns how many there are, or the code of a failure: `FyStatus::Input` where the section
/// `[power]` of the device is off, and on a disk.
///
/// # Safety
///
/// `device` is one that is open; `cut` may be written; `lost` is null or has `size` places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_cut(
    device: *mut FyDevice,
    seed: u64,
    cut: *mut FyCut,
    lost: *mut FyLost,
    size: usize,
) -> i64 {
    let done = |device: &mut FyDevice| {
        // SAFETY: the caller promises that it may be written.
        let to = unsafe { output(cut, "cut") }?;
        let done = device.cut(seed)?;
        *to = cut_of(&done);
        let size = if lost.is_null() { 0 } else { size };
        for (place, one) in done.lost.iter().take(size).enumerate() {
            // SAFETY: the caller promises that there are so many places.
            let to = unsafe { lost.add(place) };
            // SAFETY: the same.
            unsafe { to.write(lost_of(one)) };
        }
        Ok(done.lost.len())
    };
    // SAFETY: the caller promises it.
    count(unsafe { with(device, done) })
}

/// A loss of power in the layout of C.
fn cut_of(done: &Cut) -> FyCut {
    FyCut {
        at_ns: done.at.as_ns(),
        recovery_ns: done.recovery.as_ns(),
        reads: done.reads.all(),
        lost_units: done.lost.len() as u64,
        broken_units: done.broken().count() as u64,
        torn_units: done.torn_units,
        dumped_units: done.dumped_units,
        energy_pj: done.energy_pj,
        needed_pj: done.needed_pj,
    }
}

fn lost_of(one: &Lost) -> FyLost {
    FyLost {
        offset: one.first_sector * SECTOR,
        bytes: u64::from(one.sectors) * SECTOR,
        how: one.how as u32,
        promised: one.promised.into(),
    }
}

/// Lets all that is under way end, and writes the report: JSON, as `flashyard run --json` prints it
/// (docs/JSON.md), with a zero byte behind it. Returns the bytes that it needs, or the code of a
/// failure; where they are more than `size`, the text is cut: ask with 0 first. The device takes no
/// requests afterwards.
///
/// # Safety
///
/// `device` is one that is open; `buffer` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_report(device: *mut FyDevice, buffer: *mut c_char, size: usize) -> i64 {
    let report = |device: &mut FyDevice| {
        let text = device.report()?;
        // SAFETY: the caller promises it.
        Ok(unsafe { give(text, buffer, size) })
    };
    // SAFETY: the caller promises it.
    count(unsafe { with(device, report) })
}

/// The text of the last failure of a device. Returns the bytes that it needs, or a code.
///
/// # Safety
///
/// `device` is one that is open; `buffer` is null or has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_error(
    device: *const FyDevice,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    // SAFETY: the caller promises it.
    let Some(device) = (unsafe { device.as_ref() }) else { return FyStatus::Argument as i64 };
    // SAFETY: the caller promises it.
    count(Ok(unsafe { give(&device.error, buffer, size) }))
}

/// The name of a part of latencies, such as `die_gc`; null behind the last one.
#[unsafe(no_mangle)]
pub extern "C" fn fy_part_name(part: usize) -> *const c_char {
    static NAMES: LazyLock<[CString; FY_PARTS]> = LazyLock::new(|| {
        Part::ALL.map(|part| CString::new(part.name()).expect("a name has no zero byte"))
    });
    NAMES.get(part).map_or(core::ptr::null(), |name| name.as_ptr())
}

/// Frees a device.
///
/// # Safety
///
/// `device` is null, or one that is open; nobody uses it afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fy_close(device: *mut FyDevice) {
    if device.is_null() {
        return;
    }
    // SAFETY: the caller promises it; `fy_open` and `fy_fork` made it so.
    let device = unsafe { Box::from_raw(device) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(device)));
}
