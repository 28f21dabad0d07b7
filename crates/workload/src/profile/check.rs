//! Whether a profile from a file makes sense.

use flashyard_core::request::{LAST_ARRIVAL, RequestOp};

use super::classes::{AGAIN, ELSEWHERE, KINDS, OPS, RANKS, RUN_OTHER, TRAITS, size_class};
use super::fit::ELSEWHERE_LABELS;
use super::history::{CHUNK_SECTORS, PAGE_SECTORS, RUNS};
use super::tables::{Profile, VERSION};

/// Requests of a profile.
const MAX_REQUESTS: u64 = 1_000_000_000_000;
/// Durations, as those of traces.
const MAX_NS: u64 = LAST_ARRIVAL.as_ns();
/// Sectors that a profile's addresses span at most: 8 EiB.
pub const MAX_SPAN_SECTORS: u64 = 1 << 54;
/// Symbols: their numbers fit 16 bits.
const MAX_SYMBOLS: usize = 1 << 16;

/// What to do about any of it.
const FIX: &str = "fit the trace again (flashyard trace fit)";

impl Profile {
    /// Checks that the tables fit each other; otherwise says what is wrong and how to fix it.
    pub fn check(&self) -> Result<(), String> {
        self.find().map_or(Ok(()), |what| Err(format!("{what}; {FIX}")))
    }

    /// The first thing that is wrong.
    fn find(&self) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("version: {}, but this program knows {VERSION}", self.version));
        }
        let bounds = [
            ("gap_bounds_ns", &self.gap_bounds_ns),
            ("size_bounds", &self.size_bounds),
            ("load_bounds_ns", &self.load_bounds_ns),
        ];
        for (name, bounds) in bounds {
            if bounds.first() == Some(&0) || !bounds.is_sorted_by(|a, b| a < b) {
                return Some(format!("{name}: the bounds do not ascend"));
            }
        }
        self.find_in_symbols()
            .or_else(|| self.find_in_gaps())
            .or_else(|| self.find_in_sizes())
            .or_else(|| self.find_in_places())
            .or_else(|| self.find_in_phases())
    }

    fn find_in_symbols(&self) -> Option<String> {
        let classes = [
            OPS,
            self.size_bounds.len() + 1,
            self.gap_bounds_ns.len() + 1,
            KINDS,
            self.load_bounds_ns.len() + 1,
        ];
        for (number, symbol) in self.symbols.iter().enumerate() {
            if symbol.iter().zip(classes).any(|(&class, count)| class >= count as u64) {
                return Some(format!(
                    "symbols: there is no such class in {symbol:?}, symbol {number}"
                ));
            }
        }
        if self.symbols.len() > MAX_SYMBOLS {
            return Some(format!("symbols: {} are too many", self.symbols.len()));
        }
        let missing = self.first >= self.symbols.len() as u64;
        missing.then(|| format!("first: there is no symbol {}", self.first))
    }

    fn find_in_gaps(&self) -> Option<String> {
        for table in &self.gaps {
            if table.class > self.gap_bounds_ns.len() as u64 {
                return Some(format!("gaps: there is no class {}", table.class));
            }
            let bounds = &table.bounds_ns;
            if bounds.len() < 2 || !bounds.is_sorted() || bounds.last() > Some(&MAX_NS) {
                let class = table.class;
                return Some(format!("gaps: bounds_ns of class {class} do not ascend up to 2^62"));
            }
        }
        let known = |class: u64| self.gaps.iter().any(|table| table.class == class);
        let used = self.used_symbols();
        let missing = used.iter().find(|symbol| !known(symbol[2]))?;
        Some(format!("gaps: class {} is missing", missing[2]))
    }

    /// The symbols that moves lead to.
    fn used_symbols(&self) -> Vec<[u64; 5]> {
        let moves = self.phase.iter().flat_map(|phase| &phase.moves);
        let to = moves.flat_map(|row| row.iter().skip(1).step_by(2));
        to.filter_map(|&to| self.symbols.get(usize::try_from(to).ok()?)).copied().collect()
    }

    fn find_in_sizes(&self) -> Option<String> {
        let mut known = vec![false; OPS * (self.size_bounds.len() + 1)];
        let place = |op: u64, class: usize| -> Option<usize> {
            Some(usize::try_from(op).ok()? * (self.size_bounds.len() + 1) + class)
        };
        for table in &self.sizes {
            if table.op >= RequestOp::Flush as u64 {
                return Some(format!("sizes: op = {} has none", table.op));
            }
            for &[sectors, count] in &table.sectors {
                let fits = (1..=u64::from(u32::MAX)).contains(&sectors);
                if !fits || sectors > self.span_sectors {
                    return Some(format!("sizes: {sectors} sectors do not fit the span"));
                }
                if count > MAX_REQUESTS {
                    let op = table.op;
                    return Some(format!("sizes: op = {op}: [{sectors}, {count}] are too many"));
                }
                let place = place(table.op, size_class(sectors, &self.size_bounds))?;
                known[place] |= count > 0;
            }
        }
        let flush = RequestOp::Flush as u64;
        let missing = self.symbols.iter().filter(|symbol| symbol[0] != flush).find(|symbol| {
            let place = usize::try_from(symbol[1]).ok().and_then(|size| place(symbol[0], size));
            !place.is_some_and(|place| known[place])
        })?;
        Some(format!("sizes: op = {} has none of class {}", missing[0], missing[1]))
    }

    fn find_in_places(&self) -> Option<String> {
        if self.span_sectors > MAX_SPAN_SECTORS {
            return Some(format!("span_sectors: {} is beyond 8 EiB", self.span_sectors));
        }
        for table in &self.places {
            let (op, kind) = (table.op, table.kind);
            if op >= RequestOp::Flush as u64 || kind >= KINDS as u64 {
                return Some(format!("places: there is no op = {op} with kind = {kind}"));
            }
            let ranks = match usize::try_from(kind).ok()? {
                RUN_OTHER => 2 * RUNS,
                AGAIN => 6 * RANKS,
                ELSEWHERE => 2 * ELSEWHERE_LABELS,
                _ => RUNS,
            };
            let limits = [
                ("ranks", &table.ranks, ranks as u64),
                ("pages", &table.pages, CHUNK_SECTORS / PAGE_SECTORS),
                ("sectors", &table.sectors, PAGE_SECTORS),
            ];
            for (name, cards, limit) in limits {
                if let Some([label, count]) =
                    cards.iter().find(|card| card[0] >= limit || card[1] > MAX_REQUESTS)
                {
                    return Some(format!(
                        "places: {name} of op = {op}, kind = {kind}: [{label}, {count}] is no label and count"
                    ));
                }
            }
        }
        None
    }

    fn find_in_phases(&self) -> Option<String> {
        let (mut requests, mut duration_ns) = (0_u64, 0_u64);
        for (number, phase) in self.phase.iter().enumerate() {
            let mut moves = 0_u64;
            for row in &phase.moves {
                let symbols = row.iter().step_by(2).take(1).chain(row.iter().skip(1).step_by(2));
                let known = |&symbol: &u64| symbol < self.symbols.len() as u64;
                let counts = row.iter().skip(2).step_by(2);
                if row.len() % 2 == 0 || row.len() < 3 || !symbols.clone().all(known) {
                    return Some(format!(
                        "phase {number}: moves: {row:?} is no row of a symbol and pairs of a symbol and a count"
                    ));
                }
                for &count in counts {
                    moves = moves.saturating_add(count);
                }
            }
            let mut counted = 0_u64;
            for segment in &phase.segments {
                if segment.counts.len() > TRAITS || segment.counts.iter().all(|&count| count == 0) {
                    return Some(format!(
                        "phase {number}: segments: a row has a duration and 1 to {TRAITS} counts, not all 0"
                    ));
                }
                counted =
                    segment.counts.iter().fold(counted, |sum, &count| sum.saturating_add(count));
                duration_ns = duration_ns.saturating_add(segment.duration_ns);
            }
            if counted != moves || moves == 0 {
                return Some(format!(
                    "phase {number}: {moves} moves, but {counted} in its segments"
                ));
            }
            requests = requests.saturating_add(moves);
        }
        if duration_ns > MAX_NS {
            return Some(format!("phase: they last {duration_ns} ns, which is beyond 146 years"));
        }
        (requests > MAX_REQUESTS).then(|| format!("phase: {requests} requests are too many"))
    }
}
