//! What the naive machine looks at before it decides, and how it starts things.

use super::{Event, Machine, State, What};

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

    /// Different pages that writes wait to put and that no line holds.
    pub(super) fn lines_needed(&self) -> usize {
        let mut pages: Vec<u64> = Vec::new();
        for (request, page) in self.waiting(false) {
            if self.requests[request].write && self.line_of(page).is_none() {
                pages.push(page);
            }
        }
        pages.sort_unstable();
        pages.dedup();
        pages.len()
    }

    /// The line that a new page takes.
    pub(super) fn room(&self) -> Option<usize> {
        let empty = |&line: &usize| self.cells[line].line.page.is_none();
        let clean = |&line: &usize| !self.cells[line].line.dirty && !self.used(line);
        let first = self.by_age().into_iter().find(empty);
        first.or_else(|| self.by_age().into_iter().find(clean))
    }

    pub(super) fn victim(&self, spare_wanted: bool) -> Option<usize> {
        let put_bank = self.putting().and_then(|put| put.bank);
        let waiting = self.waiting(false);
        let fits = |&line: &usize| {
            let cell = &self.cells[line];
            let wanted = waiting.iter().any(|&(_, page)| cell.line.page == Some(page));
            let free = !cell.flushing && !self.used(line) && Some(cell.line.bank) != put_bank;
            cell.line.dirty && free && !(spare_wanted && wanted)
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
        self.running.iter().find(|event| event.what == What::Put)
    }

    pub(super) fn getting(&self) -> Option<&Event> {
        self.running.iter().find(|event| matches!(event.what, What::Get | What::FlushGet))
    }

    pub(super) fn used(&self, line: usize) -> bool {
        self.putting().into_iter().chain(self.getting()).any(|event| event.line == Some(line))
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
        let hidden = |put: &Event| self.now + self.params.get <= put.end;
        self.getting().is_none() && self.putting().is_some_and(hidden)
    }

    pub(super) fn can_get(&self, line: usize) -> bool {
        let bank = Some(self.cells[line].line.bank);
        self.getting().is_none() && self.putting().is_none_or(|put| put.bank != bank)
    }

    pub(super) fn can_put(&self, line: usize) -> bool {
        let bank = Some(self.cells[line].line.bank);
        let port = self.putting().is_none() && !self.cells[line].flushing;
        port && self.getting().is_none_or(|get| get.bank != bank)
    }

    pub(super) fn start_get(&mut self, request: usize, page: u64, line: usize) -> bool {
        if self.params.gets_refresh {
            self.refresh(line);
        }
        self.start_access(What::Get, request, page, Some(line))
    }

    pub(super) fn start_put(&mut self, request: usize, page: u64, line: usize) -> bool {
        self.cells[line].line.page = Some(page);
        self.cells[line].line.dirty = true;
        self.refresh(line);
        self.start_access(What::Put, request, page, Some(line))
    }

    pub(super) fn start_flush(&mut self, line: usize) -> bool {
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
        let (start, end) = (self.now, self.now + span);
        let event = Event { start, end, what, page, request: req, line, bank };
        self.running.push(event);
        self.run.events.push(event);
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
