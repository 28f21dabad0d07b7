//! A trace as a source of requests: the stages of the pipeline, one after the other.

use std::mem;

use flashyard_core::request::{LAST_ARRIVAL, Request};
use flashyard_core::units::Time;

use super::addresses::{Addresses, Refused, mebibytes};
use super::changes::{ClockLog, order_notes};
use super::clock::Clock;
use super::keys::{Devices, Fold, TimeOrder, TraceKeys, TraceOptions};
use super::order::{TooLate, Window};
use super::repeat::Repeat;
use super::rows::{Row, Rows};
use super::select::{Clip, Clipped};
use super::survey::Survey;
use super::ticks::{Coarse, Ticks};
use crate::error::{WorkloadError, readable_ns};
use crate::input::{BytesRead, Input};
use crate::words::counted;
use crate::{Extent, RequestSource, SourceStats};

/// A trace as a stream of requests.
#[derive(Debug)]
pub struct Trace {
    keys: TraceKeys,
    rows: Rows,
    survey: Survey,
    window: Window,
    /// Where requests are spread inside the ticks of their clock.
    ticks: Option<Ticks>,
    coarse: Coarse,
    clip: Clip,
    pub(super) addresses: Addresses,
    clock: Option<Clock>,
    log: ClockLog,
    /// The request that was split last, whose other parts follow.
    split: Option<Request>,
    /// The stream whose requests are handed out, where it is one only.
    only: Option<u16>,
    /// Whether every row becomes one request, and nothing needs to be told of each: no request is
    /// clipped, split or of another stream, and no time is rounded.
    plain: bool,
    /// Whether, besides, rows are records in order of time.
    quick: bool,
    /// Requests of other streams that were moved to fit the device.
    folded_elsewhere: u64,
    /// No row is left to read: only the window is.
    drained: bool,
    bytes: BytesRead,
    /// Where the trace is to be read more than once.
    repeat: Option<Box<Repeat>>,
}

impl Trace {
    /// Opens a trace. Some keys need a pass over the whole trace first.
    pub fn open(
        mut input: Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        let mut trace = Self::open_input(&mut input, keys, options)?;
        trace.repeat = Repeat::new(input, keys, options)?;
        Ok(trace)
    }

    pub(super) fn open_input(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        check_keys(keys, options)?;
        let mut survey = Survey::new(input, keys, options)?;
        if !keys.duration_ms.is_zero() {
            survey = Self::with_span(input, keys, options, survey)?;
        }
        Self::surveyed(input, keys, options, survey)
    }

    /// Adds the span of a trace to what is known of it, which takes a pass over what is left of it.
    fn with_span(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
        survey: Survey,
    ) -> Result<Survey, WorkloadError> {
        let mut trace = Self::surveyed(input, keys, options, survey)?;
        let mut span = None;
        while let Some(row) = trace.next_clipped()? {
            let time_ns = row.record.time_ns;
            span = Some((span.map_or(time_ns, |(first_ns, _)| first_ns), time_ns));
        }
        let span_ns = span.map(|(first_ns, last_ns)| last_ns - first_ns);
        Ok(Survey { span_ns, ..trace.survey })
    }

    /// Opens a trace of which everything is known that the keys need.
    fn surveyed(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
        survey: Survey,
    ) -> Result<Self, WorkloadError> {
        let window = match keys.time_order {
            TimeOrder::Error => 0,
            TimeOrder::Sort | TimeOrder::JoinEpochs => {
                usize::try_from(keys.sort_window).expect("the greatest window fits")
            }
        };
        let rows = Rows::open(input, keys, options)?;
        let clip = Clip::new(keys);
        let plain =
            !clip.is_active() && keys.fold != Fold::Renumber && keys.time_quantum_us.is_zero();
        let tick_ns = if keys.tick_us.is_zero() { rows.tick_ns() } else { keys.tick_us.as_ns() };
        let ticks = (tick_ns > 1).then(|| Ticks::new(tick_ns));
        let in_order = window == 0 && survey.epochs.is_none() && ticks.is_none();
        Ok(Self {
            keys: *keys,
            quick: plain && in_order && rows.are_plain_records(),
            rows,
            survey,
            window: Window::new(window),
            ticks,
            coarse: Coarse::new(tick_ns == 0),
            clip,
            addresses: Addresses::new(keys, options.capacity_sectors),
            clock: None,
            log: ClockLog::default(),
            split: None,
            only: None,
            plain,
            folded_elsewhere: 0,
            drained: false,
            bytes: input.bytes_read(),
            repeat: None,
        })
    }

    /// Hands out the requests of this stream only. Everything else is as in the whole trace: the
    /// clock starts with its first request, and chunks are numbered over all streams.
    pub const fn keep_stream(&mut self, number: u16) {
        (self.only, self.plain, self.quick) = (Some(number), false, false);
    }

    /// The name of its format.
    pub fn format_name(&self) -> &str {
        self.rows.format_name()
    }

    /// What the values of the column that makes streams were, by number of the stream, of the rows
    /// read so far. Empty where streams are the numbers that the rows have.
    pub fn stream_names(&self) -> Vec<String> {
        self.rows.stream_names()
    }

    /// Whether names of streams may stand in a part that has not been read: those of binary traces
    /// stand at the end, which a clip may leave out.
    pub fn may_have_more_names(&self) -> bool {
        self.rows.may_have_more_names()
    }

    /// The next row in order of time, inside its tick.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    fn next_timed(&mut self) -> Result<Option<Row>, WorkloadError> {
        if self.ticks.is_some() { self.next_of_tick() } else { self.next_sorted() }
    }

    /// The next row, spread inside its tick: all rows of a tick are read first.
    #[inline(never)]
    fn next_of_tick(&mut self) -> Result<Option<Row>, WorkloadError> {
        let Some(mut ticks) = self.ticks.take() else { return self.next_sorted() };
        let mut read = Ok(());
        while ticks.needs_more() {
            match self.next_sorted() {
                Ok(Some(row)) => {
                    if let Err(too_many) = ticks.push(row) {
                        read = Err(self.rows.error_at(row.line, too_many.what, too_many.fix));
                        break;
                    }
                }
                Ok(None) => ticks.end(),
                Err(error) => {
                    read = Err(error);
                    break;
                }
            }
        }
        let row = ticks.pop();
        self.ticks = Some(ticks);
        read.map(|()| row)
    }

    /// Counts the row that was read last, if it was moved inside its tick.
    #[inline]
    fn count_spread(&mut self) {
        if let Some(ticks) = &mut self.ticks {
            ticks.used();
        }
    }

    /// The next row in order of time.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    fn next_sorted(&mut self) -> Result<Option<Row>, WorkloadError> {
        while !self.drained {
            let Some(mut row) = self.rows.next_row()? else {
                self.drained = true;
                break;
            };
            row.record.time_ns = self.survey.joined(&row).ok_or_else(|| self.changed(row.line))?;
            match self.window.push(row) {
                Ok(Some(row)) => return Ok(Some(row)),
                Ok(None) => {}
                Err(late) => return Err(self.out_of_order(row.line, &late)),
            }
        }
        Ok(self.window.pop())
    }

    /// The next row in order of time that is not clipped off.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    fn next_clipped(&mut self) -> Result<Option<Row>, WorkloadError> {
        while !self.clip.is_over() {
            let Some(row) = self.next_timed()? else { break };
            match self.clip.decide(row.record.time_ns) {
                Clipped::Keep => return Ok(Some(row)),
                Clipped::Before => {}
                Clipped::Behind => break,
            }
        }
        self.clip.end(self.window.held() + self.ticks.as_ref().map_or(0, Ticks::held));
        self.clip.nothing(self.rows.name()).map_or(Ok(None), Err)
    }

    /// The clock, which starts with the first request in order of time.
    #[cold]
    #[inline(never)]
    fn start_clock(&mut self, first_ns: u64, line: u64) -> Result<Clock, WorkloadError> {
        let keys = &self.keys;
        let start_ns =
            if keys.rebase { Some(0) } else { first_ns.checked_sub(keys.origin_s.as_ns()) };
        let Some(start_ns) = start_ns else {
            let what = format!("the request is earlier than trace.origin_s, {first_ns} ns");
            return Err(self.rows.error_at(line, what, "lower the key".to_owned()));
        };
        let scale = match self.survey.span_ns {
            Some(0) => (1, 1),
            Some(span_ns) => (keys.duration_ms.as_ns(), span_ns),
            None => (keys.time_scale.millionths(), 1_000_000),
        };
        let clock = |quantum_ns| Clock::new(first_ns, start_ns, scale, quantum_ns);
        self.log = ClockLog::new(first_ns, clock(0));
        Ok(*self.clock.insert(clock(keys.time_quantum_us.as_ns())))
    }

    /// The request of a row that has been put on the device.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    fn request(&mut self, row: Row) -> Result<Request, WorkloadError> {
        let record = row.record;
        let clock = match self.clock {
            Some(clock) => clock,
            None => self.start_clock(record.time_ns, row.line)?,
        };
        self.log.look(record.time_ns);
        self.coarse.look(record.time_ns);
        let arrival_ns = clock.arrival_ns(record.time_ns).filter(|&ns| ns <= LAST_ARRIVAL.as_ns());
        let Some(arrival_ns) = arrival_ns else {
            return Err(self.too_late(record.time_ns, row.line));
        };
        Ok(record.arriving(Time::from_ns(arrival_ns)))
    }

    #[cold]
    fn too_late(&self, time_ns: u64, line: u64) -> WorkloadError {
        let what = format!("the time is too large, {time_ns} ns");
        let fix = if self.keys.rebase {
            "arrivals end at 146 years; lower trace.time_scale or trace.duration_ms"
        } else {
            "arrivals end at 146 years; count from a time near the first request with \
             trace.origin_s, or lower trace.time_scale or trace.duration_ms"
        };
        self.rows.error_at(line, what, fix.to_owned())
    }

    /// The next record of a binary trace as a request, where nothing is changed or refused; `None`
    /// leaves the record to the longer way, which does the same.
    #[inline]
    fn quick_request(&mut self) -> Option<Request> {
        let clock = self.clock.as_ref()?;
        let record = self.rows.peek_record().filter(|record| self.addresses.keeps(record))?;
        let arrival_ns =
            clock.arrival_ns(record.time_ns).filter(|&ns| ns <= LAST_ARRIVAL.as_ns())?;
        self.rows.take_record(record.time_ns);
        self.window.pass(record.time_ns);
        self.log.look(record.time_ns);
        self.coarse.look(record.time_ns);
        Some(record.arriving(Time::from_ns(arrival_ns)))
    }

    /// Puts a request on the device that does not simply stay where it is.
    fn placed(&mut self, mut row: Row) -> Result<Row, WorkloadError> {
        match self.addresses.place(&mut row.record) {
            Ok(()) => Ok(row),
            Err(Refused::Row(error)) => Err(self.rows.error_at(row.line, error.what, error.fix)),
            Err(Refused::Footprint) => Err(self.footprint(row)),
        }
    }

    /// The request of a row that may have to be moved.
    #[cold]
    fn moved(&mut self, row: Row) -> Result<Option<Request>, WorkloadError> {
        let row = self.placed(row)?;
        self.request(row).map(Some)
    }

    /// The next request where a row may become none or several.
    fn next_of_changed(&mut self) -> Result<Option<Request>, WorkloadError> {
        if let Some(part) = self.next_part() {
            return Ok(Some(part));
        }
        while let Some(row) = self.next_clipped()? {
            let folded = self.addresses.moves.folded;
            let time_ns = row.record.time_ns;
            let row = self.placed(row)?;
            let request = self.request(row)?;
            self.log.rounded(time_ns, request.arrival.as_ns());
            if self.only.is_some_and(|only| only != request.stream) {
                self.folded_elsewhere += self.addresses.moves.folded - folded;
                self.addresses.forget_parts();
                continue;
            }
            self.count_spread();
            self.split = self.addresses.has_parts().then_some(request);
            return Ok(Some(request));
        }
        Ok(None)
    }

    /// The error of a trace whose chunks do not fit the device: reads on to its end to say how
    /// large they are.
    fn footprint(&mut self, mut row: Row) -> WorkloadError {
        let line = row.line;
        loop {
            if let Err(Refused::Row(error)) = self.addresses.touch(&mut row.record) {
                return self.rows.error_at(row.line, error.what, error.fix);
            }
            match self.next_clipped() {
                Ok(Some(next)) => row = next,
                Ok(None) => break,
                Err(error) => return error,
            }
        }
        let (chunks, kib) = self.addresses.footprint().expect("only renumbering has a footprint");
        let what = format!(
            "the device has no room for the chunk of this request: the trace touches {chunks} \
             chunks of {kib} KiB, {} MiB",
            mebibytes(chunks, kib)
        );
        let fix = "give the device more capacity, lower trace.chunk_kib, or set \
                   trace.renumber_wrap = true";
        self.rows.error_at(line, what, fix.to_owned())
    }

    /// The next part of the request that was split last.
    fn next_part(&mut self) -> Option<Request> {
        let whole = self.split?;
        let part = self.addresses.next_part();
        if part.is_none() {
            self.split = None;
        }
        part.map(|(first_sector, sectors)| whole.over(first_sector, sectors))
    }

    fn changed(&self, line: u64) -> WorkloadError {
        let what = "the time was not there when the file was read first".to_owned();
        self.rows.error_at(line, what, "leave the file alone while it is read".to_owned())
    }

    fn out_of_order(&self, line: u64, late: &TooLate) -> WorkloadError {
        let back = readable_ns(late.back_ns);
        if self.keys.time_order == TimeOrder::Error {
            let what = format!("time steps back by {back}");
            let fix = "set trace.time_order = \"sort\" to sort the rows, or \"join_epochs\" if \
                       the clock was set while recording";
            return self.rows.error_at(line, what, fix.to_owned());
        }
        let window = counted(self.keys.sort_window, "request");
        let what = format!("time steps back by {back}, too far for a window of {window}");
        let fix = match late.window {
            Some(window) => format!("trace.sort_window = {window} reaches this row"),
            None => "sort the file, or set trace.time_order = \"join_epochs\" if the clock was \
                     set while recording"
                .to_owned(),
        };
        self.rows.error_at(line, what, fix)
    }
}

impl RequestSource for Trace {
    #[inline]
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.repeat.is_some() { self.next_of_repeated() } else { self.next_of_pass() }
    }

    fn extent(&self) -> Option<Extent> {
        let pass = self.bytes.extent();
        self.repeat.as_ref().map_or(pass, |repeat| pass.map(|pass| repeat.extent(pass)))
    }

    fn stats(&self) -> SourceStats {
        let pass = SourceStats {
            clock_epochs: self.survey.epoch_count(),
            clipped: self.clip.dropped(),
            added: self.addresses.added(),
            folded: self.addresses.moves.folded - self.folded_elsewhere,
            spread: self.ticks.as_ref().map_or(0, Ticks::spread),
            ..self.rows.stats()
        };
        self.repeat.as_ref().map_or(pass, |repeat| repeat.stats(&pass))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.rows.notes();
        let epochs = self.survey.epochs.as_ref();
        notes.extend(order_notes(&self.keys, &self.rows.stats(), epochs));
        notes.extend(self.ticks.as_ref().and_then(Ticks::note));
        notes.extend(self.coarse.note());
        notes.extend(self.clip.note());
        notes.extend(self.addresses.notes());
        if let Some(clock) = &self.clock {
            let others = self.rows.other_events();
            notes.extend(self.log.notes(clock, &self.keys, self.survey.span_ns, others));
        }
        notes.extend(self.repeat.as_ref().map(|repeat| repeat.note()));
        notes
    }
}

impl Trace {
    /// The next request of one pass over the file.
    #[inline]
    fn next_of_pass(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.quick
            && let Some(request) = self.quick_request()
        {
            return Ok(Some(request));
        }
        if !self.plain {
            return self.next_of_changed();
        }
        let Some(row) = self.next_timed()? else { return Ok(None) };
        self.count_spread();
        if !self.addresses.keeps(&row.record) {
            return self.moved(row);
        }
        self.request(row).map(Some)
    }
}

impl Trace {
    /// The next request of this pass or, where it is over, of the next one.
    #[inline(never)]
    fn next_of_repeated(&mut self) -> Result<Option<Request>, WorkloadError> {
        loop {
            if let Some(request) = self.next_of_pass()? {
                let shift_ns = self.repeat.as_mut().map_or(0, |repeat| {
                    repeat.gives = true;
                    repeat.shift_ns
                });
                let arrival_ns = request.arrival.as_ns().checked_add(shift_ns);
                let Some(ns) = arrival_ns.filter(|&ns| ns <= LAST_ARRIVAL.as_ns()) else {
                    return Err(WorkloadError::Key {
                        key: "trace.repeat",
                        what: "the repetitions run past the 146 years that a run has".to_owned(),
                        fix: "lower it".to_owned(),
                    });
                };
                return Ok(Some(request.at(Time::from_ns(ns))));
            }
            if !self.begin_again()? {
                return Ok(None);
            }
        }
    }

    /// Goes back to the start of the file; false where no repetition is left, or none gives a
    /// request.
    fn begin_again(&mut self) -> Result<bool, WorkloadError> {
        let stats = SourceStats { added: 0, folded: 0, ..self.stats() };
        let span_ns = self.clock.map_or(0, |clock| self.log.span_ns(&clock));
        let goes_on = |repeat: &mut Box<Repeat>| repeat.left > 0 && repeat.gives;
        let Some(mut repeat) = self.repeat.take_if(goes_on) else {
            return Ok(false);
        };
        repeat.gives = false;
        repeat.left -= 1;
        repeat.done += 1;
        repeat.shift_ns = repeat.shift_ns.saturating_add(span_ns);
        repeat.before = stats;
        let survey = mem::take(&mut self.survey);
        let mut pass = Self::surveyed(&mut repeat.input, &self.keys, &repeat.options, survey)?;
        mem::swap(&mut pass.addresses, &mut self.addresses);
        pass.folded_elsewhere = self.folded_elsewhere;
        pass.repeat = Some(repeat);
        if let Some(number) = self.only {
            pass.keep_stream(number);
        }
        *self = pass;
        Ok(true)
    }
}

fn check_keys(keys: &TraceKeys, options: &TraceOptions) -> Result<(), WorkloadError> {
    let refuse =
        |key, what: String, fix: &str| Err(WorkloadError::Key { key, what, fix: fix.to_owned() });
    if options.capacity_sectors == Some(0) {
        let what = "the device has no sectors, 0".to_owned();
        return refuse("trace.fold", what, "give it a capacity");
    }
    if !keys.duration_ms.is_zero() && keys.time_scale != TraceKeys::default().time_scale {
        let what = "there is a duration and a scale".to_owned();
        let fix = "set only one of trace.time_scale and trace.duration_ms";
        return refuse("trace.duration_ms", what, fix);
    }
    let pairs = [
        ("trace.first_stream", "trace.last_stream", keys.first_stream, keys.last_stream + 1),
        (
            "trace.min_kib",
            "trace.max_kib",
            keys.min_kib.bytes(),
            keys.max_kib.bytes().saturating_add(1),
        ),
        ("trace.from_sector", "trace.to_sector", keys.from_sector, keys.to_sector),
        ("trace.start_ms", "trace.end_ms", keys.start_ms.as_ns(), keys.end_ms.as_ns()),
    ];
    let limits = [keys.last_stream + 1, keys.max_kib.bytes(), keys.to_sector, keys.end_ms.as_ns()];
    for ((low, high, from, to), limit) in pairs.into_iter().zip(limits) {
        if limit > 0 && from >= to {
            let fix = format!("set it below {high}");
            return refuse(low, format!("nothing lies between it and {high}"), &fix);
        }
    }
    if keys.rebase && !keys.origin_s.is_zero() {
        let what = "the first request arrives at 0, whatever the origin".to_owned();
        return refuse("trace.origin_s", what, "set trace.rebase = false, or take the key out");
    }
    if keys.devices == Devices::Apart && !matches!(keys.fold, Fold::Renumber | Fold::Modulo) {
        let what = format!("trace.fold = {} keeps no devices apart", keys.fold.word());
        return refuse("trace.devices", what, "set trace.fold to renumber or modulo");
    }
    let chunk_sectors = 2 * keys.chunk_kib;
    if keys.fold == Fold::Renumber
        && let Some(capacity) = options.capacity_sectors
        && capacity < chunk_sectors
    {
        let what =
            format!("a chunk is larger than the device, {chunk_sectors} sectors of {capacity}");
        return refuse("trace.chunk_kib", what, "lower it");
    }
    Ok(())
}
