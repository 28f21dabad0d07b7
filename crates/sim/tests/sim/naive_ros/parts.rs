//! What the naive machine looks at before it decides, and how it starts things.

use super::{Allocate, Cell, Event, Fill, Machine, State, What};

impl Machine<'_> {
    /// Accesses that have not been started, of the oldest request first or of the newest.
    pub(super) fn waiting(&self, newest_first: bool) -> Vec<(usize, u64)> {
        let mut requests = self.queue.clone();
        if newest_first {
            requests.reverse();
        }
        let mut accesses = Vec::new();
        for request in requests {
            for (page, &state) in (self.requests[request].first..).zip(&self.states[request]) {
                if state == State::Waiting {
                    accesses.push((request, page));
                }
            }
        }
        accesses
    }

    /// Whether an older request has an access of the page that is not done, one of both a write.
    pub(super) fn must_follow(&self, request: usize, page: u64) -> bool {
        let older = self.queue.iter().filter(|&&other| other < request);
        older.into_iter().any(|&other| {
            let first = self.requests[other].first;
            let write = self.requests[other].write || self.requests[request].write;
            let same = page >= first && page - first < self.requests[other].pages;
            write && same && self.states[other][index(page - first)] != State::Done
        })
    }

    /// Different pages that writes wait to put and that take an empty line, or a clean one where
    /// those are as good as empty.
    pub(super) fn lines_needed(&self) -> usize {
        let mut pages: Vec<u64> = Vec::new();
        for (request, page) in self.waiting(false) {
            let free = |line: usize| {
                let cell = &self.cells[line];
                let put = self.running.iter().any(|e| e.is_access(false) && e.line == Some(line));
                self.cleans() && !cell.line.dirty && !cell.flushing && !put
            };
            if self.requests[request].write && self.line_of(page).is_none_or(free) {
                pages.push(page);
            }
        }
        pages.sort_unstable();
        pages.dedup();
        pages.len()
    }

    /// Whether reads leave clean lines, which are then as good as empty.
    fn cleans(&self) -> bool {
        self.params.allocate != Allocate::Never
    }

    /// The line that a new page of a write takes.
    pub(super) fn room_for_write(&self) -> Option<usize> {
        let empty = |&line: &usize| self.cells[line].line.page.is_none();
        if self.cleans() { self.room() } else { self.by_age().into_iter().find(empty) }
    }

    /// Empty lines, and clean ones where those are as good.
    pub(super) fn free_lines(&self) -> usize {
        let free = |cell: &&Cell| cell.line.page.is_none() || (self.cleans() && !cell.line.dirty);
        self.cells.iter().filter(free).count()
    }

    /// An empty line, or the least recent clean one.
    pub(super) fn room(&self) -> Option<usize> {
        let empty = |&line: &usize| self.cells[line].line.page.is_none();
        let clean = |&line: &usize| !self.cells[line].line.dirty;
        let first = self.by_age().into_iter().find(empty);
        first.or_else(|| self.by_age().into_iter().find(clean))
    }

    pub(super) fn victim(&self, spare_wanted: bool) -> Option<usize> {
        self.first_victim(self.putting().and_then(|put| put.bank), spare_wanted)
    }

    pub(super) fn first_victim(&self, put_bank: Option<u32>, spare_wanted: bool) -> Option<usize> {
        let waiting = self.waiting(false);
        let fits = |&line: &usize| {
            let cell = &self.cells[line];
            let wanted = waiting.iter().any(|&(_, page)| cell.line.page == Some(page));
            let free = !cell.flushing && !self.used(line) && Some(cell.line.bank) != put_bank;
            let holds = cell.line.dirty || (cell.line.page.is_some() && !self.cleans());
            holds && free && !(spare_wanted && wanted)
        };
        self.by_age().into_iter().find(fits)
    }

    pub(super) fn by_age(&self) -> Vec<usize> {
        let mut lines: Vec<usize> = (0..self.cells.len()).collect();
        lines.sort_by_key(|&line| self.cells[line].since);
        lines
    }

    pub(super) fn line_of(&self, page: u64) -> Option<usize> {
        self.cells.iter().position(|cell| cell.line.page == Some(page))
    }

    pub(super) fn runs(&self, what: What) -> bool {
        self.running.iter().any(|event| event.what == what)
    }

    pub(super) fn putting(&self) -> Option<&Event> {
        self.running.iter().find(|event| event.is_access(false))
    }

    pub(super) fn getting(&self) -> Option<&Event> {
        self.running.iter().find(|event| event.is_access(true))
    }

    pub(super) fn used(&self, line: usize) -> bool {
        let uses = |event: &Event| event.is_access(true) || event.is_access(false);
        self.running.iter().any(|event| event.line == Some(line) && uses(event))
    }

    pub(super) fn flushes(&self) -> usize {
        self.cells.iter().filter(|cell| cell.flushing).count()
    }

    pub(super) fn channel_free(&self) -> bool {
        let reads = usize::from(self.runs(What::FlashRead));
        self.flushes() + reads < self.params.channels
    }

    /// Whether a get that starts now ends before the put does.
    pub(super) fn get_would_hide(&self) -> bool {
        let hidden = |put: &Event| put.what == What::Put && self.now + self.params.get <= put.end;
        self.getting().is_none() && self.putting().is_some_and(hidden)
    }

    pub(super) fn can_get(&self, line: usize) -> bool {
        let bank = Some(self.cells[line].line.bank);
        let put = |event: &Event| event.is_access(false) && event.line == Some(line);
        let ports = self.getting().is_none() && !self.running.iter().any(put);
        ports && self.putting().is_none_or(|put| put.bank != bank)
    }

    pub(super) fn can_put(&self, line: usize) -> bool {
        let bank = Some(self.cells[line].line.bank);
        let page = self.cells[line].line.page.is_some() && self.cells[line].line.dirty;
        let port = self.putting().is_none() && !self.cells[line].flushing;
        let port = port && !(page && self.used(line));
        port && self.getting().is_none_or(|get| get.bank != bank)
    }

    pub(super) fn start_get(&mut self, request: usize, page: u64, line: usize) -> bool {
        if self.params.gets_refresh {
            self.refresh(line);
        }
        self.start_access(What::Get, request, page, Some(line))
    }

    pub(super) fn start_put(&mut self, request: usize, page: u64, line: usize) -> bool {
        self.fills.retain(|fill| fill.page != page);
        self.cells[line].line.page = Some(page);
        self.cells[line].line.dirty = true;
        self.refresh(line);
        self.start_access(What::Put, request, page, Some(line))
    }

    /// Begins to flush a line; a clean one is empty at once.
    pub(super) fn start_flush(&mut self, line: usize) -> bool {
        if !self.cells[line].line.dirty {
            self.cells[line].line.page = None;
            self.refresh(line);
            return true;
        }
        self.cells[line].flushing = true;
        let page = self.cells[line].line.page.expect("a dirty line holds a page");
        self.start(What::FlushGet, self.params.get, page, None, Some(line));
        true
    }

    pub(super) fn start_access(
        &mut self,
        what: What,
        req: usize,
        page: u64,
        line: Option<usize>,
    ) -> bool {
        let span = match what {
            What::Put => self.params.put,
            What::FlashRead => self.params.flash_read,
            _ => self.params.get,
        };
        *self.state(req, page) = State::Running;
        self.start(what, span, page, Some(req), line);
        true
    }

    pub(super) fn start(
        &mut self,
        what: What,
        span: u64,
        page: u64,
        req: Option<usize>,
        line: Option<usize>,
    ) {
        let bank = line.map(|line| self.cells[line].line.bank);
        let start = self.free_at(what, bank).max(self.now);
        let end = start + span;
        let event = Event { start, end, what, page, request: req, line, bank };
        self.running.push(event);
        self.run.events.push(event);
    }

    /// When the port and the bank of what takes a line have nothing left to do.
    fn free_at(&self, what: What, bank: Option<u32>) -> u64 {
        let new = Event { start: 0, end: 0, what, page: 0, request: None, line: None, bank };
        let port = [true, false].into_iter().find(|&gets| new.is_access(gets));
        let Some(gets) = port else { return 0 };
        let held = |event: &&Event| {
            let uses = event.is_access(true) || event.is_access(false);
            event.is_access(gets) || (uses && event.bank == bank)
        };
        self.running.iter().filter(held).map(|event| event.end).max().unwrap_or(0)
    }

    /// A read has found a page on flash.
    pub(super) fn found(&mut self, page: u64) {
        let waits = self.fills.iter().any(|fill| fill.page == page);
        if self.line_of(page).is_some() || waits {
            return;
        }
        if self.has_room_for_read() {
            self.fill(page);
        } else if self.params.allocate == Allocate::Displace {
            self.fills.push(Fill { page, displaces: None });
        }
    }

    fn has_room_for_read(&self) -> bool {
        let least = |wanted: &dyn Fn(&&Cell) -> bool| {
            self.cells.iter().filter(wanted).map(|cell| cell.since).min()
        };
        let empty = least(&|cell| cell.line.page.is_none());
        let clean = least(&|cell| !cell.line.dirty);
        let dirty = least(&|cell| cell.line.dirty && !cell.flushing);
        match self.params.allocate {
            Allocate::Never => false,
            Allocate::Clean => clean.is_some(),
            Allocate::Displace => {
                empty.is_some() || clean.is_some_and(|clean| dirty.is_none_or(|it| clean < it))
            }
        }
    }

    /// Puts a page that a read has found into the line that a new page takes.
    fn fill(&mut self, page: u64) {
        let line = self.room().expect("an empty or clean line");
        self.cells[line].line.page = Some(page);
        self.refresh(line);
        self.start(What::Fill, self.params.put, page, None, Some(line));
    }

    /// Pages whose flush is over take a line; flushes begin for others.
    pub(super) fn serve_fills(&mut self) {
        let flushed = |fill: &Fill, cells: &[Cell]| {
            let under_way = |page| cells.iter().any(|it| it.flushing && it.line.page == Some(page));
            fill.displaces.is_some_and(|page| !under_way(page))
        };
        while let Some(at) = self.fills.iter().position(|fill| flushed(fill, &self.cells)) {
            let page = self.fills.remove(at).page;
            if self.room().is_some() {
                self.fill(page);
            }
        }
        while let Some(at) = self.fills.iter().position(|fill| fill.displaces.is_none()) {
            let page = self.fills.remove(at).page;
            if self.has_room_for_read() {
                self.fill(page);
                continue;
            }
            let fits = |&line: &usize| {
                let cell = &self.cells[line];
                cell.line.dirty && !cell.flushing && !self.used(line)
            };
            let victim = self.by_age().into_iter().find(fits).filter(|_| self.flushes() == 0);
            let Some(line) = victim else { continue };
            let displaces = self.cells[line].line.page;
            self.start_flush(line);
            self.fills.insert(at, Fill { page, displaces });
        }
    }

    pub(super) fn refresh(&mut self, line: usize) {
        self.cells[line].since = self.moments;
        self.moments += 1;
    }

    pub(super) fn state(&mut self, request: usize, page: u64) -> &mut State {
        &mut self.states[request][index(page - self.requests[request].first)]
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("requests are short")
}
