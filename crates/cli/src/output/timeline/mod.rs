//! `--timeline`: a run as a trace for the viewer of Perfetto. Tracks of requests, channels, dies
//! and the buffer, and counters; a request and its commands are joined by a flow.

mod bodies;
mod lanes;
pub(crate) mod proto;

use super::WholeFile;
use crate::window::Window;
use anyhow::{Context, Result};
use bodies::Bodies;
use flashyard_core::command::Op;
use flashyard_core::units::Time;
use flashyard_sim::observe::{
    BufferAccess, BusTransfer, ChannelTransfer, CommandDone, CommandName, FreeBlocks, Observer,
    PowerSamples, RequestDone, Shared, Suspension,
};
use lanes::Lanes;
use prost::Message;
use proto::{
    CounterDescriptor, DebugAnnotation, Trace, TracePacket, TrackDescriptor, TrackEvent, Type,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// A timeline that an observer fills and its owner finishes.
pub(crate) type SharedTimeline = Shared<Timeline>;

/// A group of tracks, in the order of the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Requests,
    Buffer,
    Channel(u32),
    Die(u32),
}

impl Group {
    /// Which bodies are those of its slices.
    const fn bodies(self) -> usize {
        if matches!(self, Self::Requests) { 0 } else { 1 }
    }

    fn name(self) -> String {
        match self {
            Self::Requests => "host queue".to_string(),
            Self::Buffer => "buffer".to_string(),
            Self::Channel(number) => format!("channel {number}"),
            Self::Die(number) => format!("die {number}"),
        }
    }
}

/// What took some time.
#[derive(Clone, Copy, Debug)]
struct Slice {
    group: Group,
    from: Time,
    until: Time,
    /// The request that it is, or belongs to.
    request: Option<u64>,
    /// Its place among the bodies.
    body: u64,
    flow: Flow,
}

/// Whether a slice is one of several of a request, and the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    None,
    Goes,
    Ends,
}

/// A value beside a slice.
#[derive(Clone, Debug)]
enum Note {
    Number(u64),
    Word(&'static str),
}

/// What a run did in a window.
#[derive(Debug)]
pub(crate) struct Timeline {
    window: Window,
    file: Option<WholeFile>,
    slices: Vec<Slice>,
    /// What they are called, and their values: of requests, which end long after they begin, and of
    /// all others.
    bodies: [Bodies; 2],
    /// Since when the operation of each die works that was suspended before.
    resumed: BTreeMap<u32, Time>,
    /// The free blocks when they changed, those before the window by their last value.
    free: Vec<(Time, u64)>,
    /// Arrivals and answers of requests that are under way in the window.
    moves: Vec<(Time, i64)>,
    /// Whether measured time, that of the power meter, is simulated time.
    shows_power: bool,
    /// Mean power, from an instant on.
    power: Vec<(Time, f64)>,
    power_ends: Option<Time>,
}

/// The observer's end of a timeline.
pub(crate) struct TimelineLogger(SharedTimeline);

impl TimelineLogger {
    /// A timeline of a window into `file`, and its owner's end; `shows_power` is whether the time
    /// of the power meter is simulated time.
    pub(crate) fn new(
        window: Window,
        shows_power: bool,
        file: WholeFile,
    ) -> (Self, SharedTimeline) {
        let timeline = Timeline {
            window,
            file: Some(file),
            slices: Vec::new(),
            bodies: Default::default(),
            resumed: BTreeMap::new(),
            free: Vec::new(),
            moves: Vec::new(),
            shows_power,
            power: Vec::new(),
            power_ends: None,
        };
        let timeline = Shared::new(timeline);
        (Self(timeline.clone()), timeline)
    }
}

impl Observer for TimelineLogger {
    fn follows(&self) -> bool {
        true
    }

    fn command_done(&mut self, event: &CommandDone) {
        self.0.get().command(event);
    }

    fn suspended(&mut self, event: &Suspension) {
        self.0.get().suspension(event);
    }

    fn transfer(&mut self, event: &ChannelTransfer) {
        let ChannelTransfer { channel, die, from, until, purpose, command, .. } = *event;
        let notes = vec![
            ("die", Note::Number(die.get().into())),
            ("direction", Note::Word(if event.out { "out" } else { "in" })),
        ];
        let group = Group::Channel(channel.get());
        self.0.get().slice(group, (from, until), command, purpose.name(), notes);
    }

    fn bus_request(&mut self, event: &BusTransfer) {
        let BusTransfer { command, purpose, request, die, start, end, ready } = *event;
        let mut notes = vec![
            ("die", Note::Number(die.get().into())),
            ("kind", Note::Word(request.kind.name())),
            ("bytes", Note::Number(request.bytes.into())),
        ];
        if let Some(ready) = ready {
            notes.push(("answer", Note::Word(if ready { "ready" } else { "busy" })));
        }
        let group = Group::Channel(request.channel);
        self.0.get().slice(group, (start, end), command, purpose.name(), notes);
    }

    fn buffer_access(&mut self, event: &BufferAccess) {
        let BufferAccess { request, page, lpn, put, start, end, .. } = *event;
        let stage = if put { "put" } else { "get" };
        let command = CommandName { request, page, stage };
        let notes = vec![("lpn", Note::Number(lpn.into()))];
        self.0.get().slice(Group::Buffer, (start, end), command, "buffer", notes);
    }

    fn free_blocks(&mut self, event: &FreeBlocks) {
        self.0.get().free_blocks(event);
    }

    fn power(&mut self, event: &PowerSamples) {
        self.0.get().power(event);
    }

    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().request(event);
    }
}

/// What a timeline takes down.
impl Timeline {
    fn slice(
        &mut self,
        group: Group,
        (from, until): (Time, Time),
        command: CommandName,
        category: &'static str,
        mut notes: Vec<(&'static str, Note)>,
    ) {
        if !self.window.overlaps(from, until) {
            return;
        }
        if let Some(order) = command.request {
            notes.push(("request", Note::Number(order)));
            notes.push(("page", Note::Number(command.page.into())));
        }
        let name = format!("{} {category}", command.stage);
        self.add(group, (from, until), command.request, (name, category, notes));
    }

    fn command(&mut self, event: &CommandDone) {
        let die = event.die.get();
        let from = match event.op {
            Op::Read => event.start,
            _ => self.resumed.remove(&die).unwrap_or(event.start),
        };
        let waited = event.start.since(event.enqueued).as_ns();
        let mut notes = vec![
            ("op", Note::Word(event.op.name())),
            ("queue", Note::Word(event.queue)),
            ("waited_ns", Note::Number(waited)),
        ];
        let lpn = event.lpn.map(|lpn| ("lpn", Note::Number(lpn.into())));
        let ppn = event.ppn.map(|ppn| ("ppn", Note::Number(ppn.into())));
        let retries = (event.retries > 0).then(|| ("retries", Note::Number(event.retries.into())));
        notes.extend(lpn.into_iter().chain(ppn).chain(retries));
        let span = (from, event.end);
        self.slice(Group::Die(die), span, event.command, event.purpose.name(), notes);
    }

    /// A suspended operation has a slice until it is out of the array, and the next one from its
    /// resumption on.
    fn suspension(&mut self, event: &Suspension) {
        let die = event.die.get();
        if event.resumed {
            self.resumed.insert(die, event.at);
            return;
        }
        let began = self.resumed.remove(&die).unwrap_or(event.began);
        let notes = vec![("ends", Note::Word("suspended"))];
        let span = (began, event.until);
        self.slice(Group::Die(die), span, event.command, event.purpose.name(), notes);
    }

    fn request(&mut self, event: &RequestDone) {
        let request = &event.request;
        let (from, until) = (request.arrival, event.completion);
        if !self.window.overlaps(from, until) {
            return;
        }
        self.moves.extend([(from, 1), (until, -1)]);
        let notes = vec![
            ("request", Note::Number(event.order)),
            ("stream", Note::Number(request.stream.into())),
            ("first_sector", Note::Number(request.first_sector)),
            ("sectors", Note::Number(request.sectors.into())),
            ("queue_wait_ns", Note::Number(event.queue_wait_ns)),
            ("own_ns", Note::Number(event.own_ns)),
        ];
        let name = format!("{} {}", request.op.name(), event.order);
        let (group, category) = (Group::Requests, request.op.name());
        self.add(group, (from, until), Some(event.order), (name, category, notes));
    }

    /// Records a slice. Its name, its category and its values go to the disk.
    fn add(
        &mut self,
        group: Group,
        (from, until): (Time, Time),
        request: Option<u64>,
        (name, category, notes): (String, &str, Vec<(&'static str, Note)>),
    ) {
        let notes = notes.into_iter().map(|(name, note)| {
            let (number, word) = match note {
                Note::Number(number) => (Some(number), None),
                Note::Word(word) => (None, Some(word.to_string())),
            };
            DebugAnnotation { uint_value: number, string_value: word, name: Some(name.to_string()) }
        });
        let body = self.bodies[group.bodies()].add(&TrackEvent {
            name: Some(name),
            categories: vec![category.to_string()],
            debug_annotations: notes.collect(),
            ..TrackEvent::default()
        });
        self.slices.push(Slice { group, from, until, request, body, flow: Flow::None });
    }

    fn free_blocks(&mut self, event: &FreeBlocks) {
        if event.at <= self.window.from {
            self.free.clear();
        }
        let known = self.free.last().is_some_and(|last| last.1 == event.blocks);
        if event.at <= self.window.until && !known {
            self.free.push((event.at, event.blocks));
        }
    }

    fn power(&mut self, event: &PowerSamples) {
        for number in 0..event.samples {
            let from = Time::from_ns(event.start_ns + number * event.span_ns);
            let until = Time::from_ns(from.as_ns() + event.span_ns);
            if self.shows_power && event.span_ns > 0 && self.window.overlaps(from, until) {
                let mw = event.energy_pj as f64 / event.span_ns as f64;
                let last = self.power.last().filter(|_| self.power_ends == Some(from));
                if last.is_none_or(|last| last.1.to_bits() != mw.to_bits()) {
                    self.power.push((from, mw));
                }
                self.power_ends = Some(until);
            }
        }
    }
}

/// What is written of each instant.
#[derive(Clone, Copy, Debug)]
enum Point {
    /// A slice ends, or begins, or is an instant, on a track.
    End(u32),
    Begin(usize, u32),
    /// A counter has a value.
    Counter(u32, Value),
}

/// The value of a counter.
#[derive(Clone, Copy, Debug)]
enum Value {
    Count(i64),
    Share(f64),
}

/// What is written, before it is put into the order of time.
#[derive(Default)]
struct Packets {
    /// By time; at one instant ends come first, then beginnings, then counters, each in order.
    points: Vec<(Time, Point)>,
    tracks: Vec<TracePacket>,
}

/// The number of the writer of all packets.
const SEQUENCE: u32 = 1;

impl Packets {
    /// Describes a track; returns its number.
    fn track(&mut self, name: &str, parent: Option<u64>, unit: Option<&str>) -> u64 {
        let uuid = self.tracks.len() as u64 + 1;
        let rank = i32::try_from(uuid).unwrap_or(i32::MAX);
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_string()),
            parent_uuid: parent,
            counter: unit.map(|unit| CounterDescriptor { unit_name: Some(unit.to_string()) }),
            child_ordering: Some(3),
            sibling_order_rank: Some(rank),
        };
        self.tracks.push(TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
        uuid
    }

    /// A slice on a track; one without a length is an instant.
    fn slice(&mut self, place: usize, slice: &Slice, track: u64) {
        let track = number(track);
        self.points.push((slice.from, Point::Begin(place, track)));
        if slice.from != slice.until {
            self.points.push((slice.until, Point::End(track)));
        }
    }

    fn counter(&mut self, track: u64, at: Time, value: Value) {
        self.points.push((at, Point::Counter(number(track), value)));
    }
}

/// The number of a track: one for each die, channel and lane.
fn number(track: u64) -> u32 {
    u32::try_from(track).expect("few tracks")
}

/// The end of the trace.
impl Timeline {
    /// Writes the trace and gives the file its name: all tracks, then all events in the order of
    /// time.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        self.write(&mut file).context("the timeline cannot be written")?;
        file.finish()
    }

    fn write(&mut self, file: &mut WholeFile) -> std::io::Result<()> {
        let mut packets = self.packets();
        packets.points.sort_by_key(|(at, point)| {
            let order = match point {
                Point::End(_) => 0,
                Point::Begin(..) => 1,
                Point::Counter(..) => 2,
            };
            (*at, order)
        });
        file.write_all(&Trace { packet: packets.tracks }.encode_to_vec())?;
        for (at, point) in packets.points {
            let (track, mut event) = (|track: u32| Some(track.into()), TrackEvent::default());
            let mut body = Vec::new();
            let kind = match point {
                Point::End(of) => {
                    event.track_uuid = track(of);
                    Type::SliceEnd
                }
                Point::Begin(place, of) => {
                    let slice = self.slices[place];
                    event.track_uuid = track(of);
                    // A flow is numbered from 1.
                    let flow = slice.request.map_or(0, |order| order + 1);
                    match slice.flow {
                        Flow::None => {}
                        Flow::Goes => event.flow_ids.push(flow),
                        Flow::Ends => event.terminating_flow_ids.push(flow),
                    }
                    body = self.bodies[slice.group.bodies()].read(slice.body)?;
                    if slice.from == slice.until { Type::Instant } else { Type::SliceBegin }
                }
                Point::Counter(of, value) => {
                    event.track_uuid = track(of);
                    match value {
                        Value::Count(value) => event.counter_value = Some(value),
                        Value::Share(value) => event.double_counter_value = Some(value),
                    }
                    Type::Counter
                }
            };
            event.r#type = Some(kind as i32);
            // Encoded messages behind one another are one message with the fields of both.
            body.extend(event.encode_to_vec());
            file.write_all(&proto::event_packet(at.as_ns(), SEQUENCE, &body))?;
        }
        Ok(())
    }

    /// The tracks, and what is on them.
    fn packets(&mut self) -> Packets {
        let mut packets = Packets::default();
        self.counters(&mut packets);
        self.slices.sort_by_key(|slice| (slice.group, slice.from, slice.until));
        self.find_flows();
        let mut open: BTreeMap<Group, (u64, Lanes)> = BTreeMap::new();
        for (place, slice) in self.slices.iter().enumerate() {
            let (parent, lanes) = open.entry(slice.group).or_insert_with(|| {
                (packets.track(&slice.group.name(), None, None), Lanes::default())
            });
            let track = lanes.place(slice.from, slice.until, |lane| {
                // The first slices are on the track itself.
                let name = format!("{}, {}", slice.group.name(), lane + 1);
                if lane == 0 { *parent } else { packets.track(&name, Some(*parent), None) }
            });
            packets.slice(place, slice, track);
        }
        packets
    }

    /// Finds the slices of requests that have several.
    fn find_flows(&mut self) {
        let slices = &mut self.slices;
        let mut places: Vec<usize> =
            (0..slices.len()).filter(|&place| slices[place].request.is_some()).collect();
        places.sort_by_key(|&place| (slices[place].request, slices[place].from, place));
        let flow = |next: Option<&usize>, before: Option<usize>, request: Option<u64>| {
            let is_same = |place: usize| slices[place].request == request;
            match (next.copied().is_some_and(is_same), before.is_some_and(is_same)) {
                (true, _) => Flow::Goes,
                (false, true) => Flow::Ends,
                (false, false) => Flow::None,
            }
        };
        let mut flows = Vec::with_capacity(places.len());
        for (number, &place) in places.iter().enumerate() {
            let before = number.checked_sub(1).map(|before| places[before]);
            flows.push(flow(places.get(number + 1), before, slices[place].request));
        }
        for (place, flow) in places.into_iter().zip(flows) {
            slices[place].flow = flow;
        }
    }

    /// Requests under way, free blocks and power.
    fn counters(&mut self, packets: &mut Packets) {
        let queue = packets.track("outstanding requests", None, Some("requests"));
        self.moves.sort_unstable();
        let instants: BTreeSet<Time> = self.moves.iter().map(|(at, _)| *at).collect();
        let (mut outstanding, mut next) = (0, 0);
        for at in instants {
            while let Some((_, change)) = self.moves.get(next).filter(|step| step.0 == at) {
                outstanding += change;
                next += 1;
            }
            packets.counter(queue, at, Value::Count(outstanding));
        }
        if !self.free.is_empty() {
            let free = packets.track("free blocks", None, Some("blocks"));
            for &(at, blocks) in &self.free {
                let blocks = i64::try_from(blocks).unwrap_or(i64::MAX);
                packets.counter(free, at, Value::Count(blocks));
            }
        }
        if !self.power.is_empty() {
            let power = packets.track("power", None, Some("mW"));
            let end = self.power_ends.map(|end| (end, 0.0));
            for (at, mw) in self.power.iter().copied().chain(end) {
                packets.counter(power, at, Value::Share(mw));
            }
        }
    }
}
