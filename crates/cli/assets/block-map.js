"use strict";
// The block map: replays the steps of a run, one at a time, and says what each one did and why.
(() => {
  const map = JSON.parse(document.getElementById("data").textContent).map;
  const root = document.getElementById("block-map");
  const part = (name) => root.querySelector(`[data-part=${name}]`);
  const [PROGRAM, TRIM, ERASE, BEGIN] = [0, 1, 2, 3];
  const [FREE, VALID, STALE, BAD] = [0, 1, 2, 3];
  const STATES = ["free", "valid", "stale", "bad"];
  const ORIGINS = ["host", "copy", "merge", "map"];
  const units = map.blocks * map.pages;
  // Steps between two states that are kept, so that going back is quick.
  const KEEP = 250;

  const first = () => {
    const state = {
      kind: new Uint8Array(units), origin: new Uint8Array(units), holds: new Int32Array(units),
      host: 0, copies: 0, maps: 0, erases: 0,
    };
    for (const [ppn, kind, holds] of map.start) {
      state.kind[ppn] = [STALE, VALID, BAD][kind];
      state.holds[ppn] = holds;
      state.origin[ppn] = kind === 1 && holds < 0 ? 3 : 0;
    }
    return state;
  };
  const copyOf = (state) => ({ ...state, kind: state.kind.slice(), origin: state.origin.slice(),
    holds: state.holds.slice() });
  const purpose = (step) => map.purposes[step[0] === PROGRAM ? step[7] : step[4]];
  const originOf = (step) => {
    if (step[3] < 0) return 3;
    if (purpose(step) === "merge") return 2;
    return step[5] >= 0 ? 1 : 0;
  };
  // Does a step, and returns the units that it touches.
  const apply = (state, step) => {
    const ppn = step[2];
    if (step[0] === PROGRAM) {
      const [, , , holds, old, from, current] = step;
      state.kind[ppn] = current ? VALID : STALE;
      state.holds[ppn] = holds;
      state.origin[ppn] = originOf(step);
      if (old >= 0) state.kind[old] = STALE;
      if (from >= 0) state.copies += 1;
      else if (purpose(step) === "host") state.host += 1;
      else state.maps += 1;
      return [ppn, old, from].filter((unit) => unit >= 0);
    }
    if (step[0] === TRIM) {
      state.kind[ppn] = STALE;
      return [ppn];
    }
    if (step[0] === ERASE) {
      const from = ppn * map.pages;
      state.kind.fill(step[3] ? BAD : FREE, from, from + map.pages);
      state.erases += 1;
      return Array.from({ length: map.pages }, (_, at) => from + at);
    }
    return [];
  };

  // Words.
  const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const name = (holds) => (holds < 0 ? `map page ${-1 - holds}` : `LPN ${holds}`);
  const place = (ppn) => `block ${Math.floor(ppn / map.pages)} ${map.page} ${ppn % map.pages}`;
  const chosen = (job) => {
    const valid = `${job.valid} of ${map.pages} ${map.page}s valid`;
    if (job.trigger === "wear") return `block ${job.victim} is erased less often than the others (${valid})`;
    if (map.rule === "greedy") return `block ${job.victim} has the fewest valid ${map.page}s (${job.valid})`;
    if (map.rule === "fifo") return `block ${job.victim} was filled longest ago (${valid})`;
    return `the rule ${map.rule} chose block ${job.victim} (${valid})`;
  };
  const WHY = {
    few: (job) => `only ${count(job.free, "block")} ${job.free === 1 ? "is" : "are"} free`,
    needed: () => "a program needs a free block",
    pace: () => "the spare space is below its target",
    idle: () => "the device has been idle",
    upkeep: () => "upkeep between phases asks for it",
    wear: () => "wear is to be levelled",
  };
  const merges = (reason) => ["switch merge", "partial merge", "full merge", "log block without a valid page"]
    .map((what, at) => [reason.merges[at], what]).filter(([number]) => number > 0)
    .map(([number, what]) => count(number, what)).join(", ");
  const because = (at) => {
    const reason = map.reasons[at];
    if (!reason) return "";
    return reason.kind === "job" ? `: ${chosen(reason)}` : ` (planned: ${merges(reason)})`;
  };
  const WORKS = { gc: "Garbage collection", map_gc: "Garbage collection", wear: "Wear levelling",
    merge: "A merge" };
  const said = (step) => {
    if (!step) return "Before the first step.";
    if (step[0] === BEGIN) {
      const reason = map.reasons[step[2]];
      if (reason.kind === "merge") return `The translation layer plans: ${merges(reason)}.`;
      const who = reason.trigger === "wear" ? "Wear levelling" : "Garbage collection";
      const next = reason.valid > 0 ? `it moves ${count(reason.valid, `valid ${map.page}`)} and erases it`
        : "nothing in it is valid, so it is erased at once";
      return `${who} begins, since ${WHY[reason.trigger](reason)}: ${chosen(reason)}; ${next}.`;
    }
    if (step[0] === TRIM) return `A trim forgets LPN ${step[3]}: ${place(step[2])} becomes stale.`;
    if (step[0] === ERASE) {
      const [, , block, worn, , request, why] = step;
      const who = WORKS[purpose(step)] ?? `Request ${request}`;
      const end = worn ? "; it is worn out and never used again" : `; its ${map.pages} ${map.page}s are free`;
      return `${who} erases block ${block}${because(why)}${end}.`;
    }
    const [, , ppn, holds, old, from, current, , request, why] = step;
    const by = purpose(step);
    const stale = old >= 0 && old !== from ? `; ${place(old)} becomes stale` : "";
    const late = current ? "" : `; it has been written anew meanwhile, so the new ${map.page} is stale at once`;
    if (from >= 0) {
      return `${WORKS[by] ?? "The device"} moves ${name(holds)} from ${place(from)} to ${place(ppn)}${because(why)}${late}.`;
    }
    if (by === "host") {
      const who = request >= 0 ? `Request ${request} writes` : "The write buffer flushes";
      return `${who} ${name(holds)} to ${place(ppn)}${stale}${late}.`;
    }
    const cause = by === "map_gc" ? "has entries of data that garbage collection has moved, and is rewritten to"
      : "was changed in the map cache, and is written to";
    return `The ${name(holds)} ${cause} ${place(ppn)}${stale}${late}.`;
  };

  // The grid.
  const labelled = map.pages <= 8 && units <= 512;
  const wide = Math.min(map.pages, labelled ? 4 : 16);
  const grid = part("grid");
  grid.style.gridTemplateColumns = `repeat(auto-fill, minmax(${labelled ? wide * 2.1 : wide * 0.75}rem, 1fr))`;
  const cells = [];
  const frames = [];
  for (let block = 0; block < map.blocks; block += 1) {
    if (map.planes > 1 && block % (map.blocks / map.planes) === 0) {
      const heading = document.createElement("div");
      heading.className = "plane";
      heading.textContent = `plane ${block / (map.blocks / map.planes)}`;
      grid.append(heading);
    }
    const frame = document.createElement("div");
    frame.className = "block";
    const title = document.createElement("b");
    title.textContent = `block ${block}`;
    const row = document.createElement("div");
    row.className = "row";
    row.style.gridTemplateColumns = `repeat(${wide}, 1fr)`;
    for (let page = 0; page < map.pages; page += 1) {
      const cell = document.createElement("i");
      cells.push(cell);
      row.append(cell);
    }
    frame.append(title, row);
    frames.push(frame);
    grid.append(frame);
  }
  const show = (ppn) => {
    const [kind, holds] = [state.kind[ppn], state.holds[ppn]];
    const has = kind === VALID || (kind === STALE && holds >= 0);
    const cell = cells[ppn];
    cell.className = kind === VALID ? `valid ${ORIGINS[state.origin[ppn]]}` : STATES[kind];
    cell.title = `${place(ppn)}: ${STATES[kind]}${has ? `, ${name(holds)}` : ""}`;
    if (labelled) cell.textContent = has ? (holds < 0 ? `m${-1 - holds}` : String(holds)) : "\u00a0";
  };

  // Where the map is: after so many steps.
  let at = 0;
  let state = first();
  const kept = [copyOf(state)];
  let marked = [];
  const forward = (to, changed) => {
    while (at < to) {
      for (const unit of apply(state, map.steps[at])) changed?.push(unit);
      at += 1;
      if (at % KEEP === 0 && kept.length === at / KEEP) kept.push(copyOf(state));
    }
  };
  const time = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(3)} s` : ns >= 1e6 ? `${(ns / 1e6).toFixed(3)} ms` : `${(ns / 1e3).toFixed(1)} us`);
  const go = (wanted) => {
    const to = Math.max(0, Math.min(map.steps.length, wanted));
    const changed = [];
    if (to < at || to - at > KEEP) {
      const place = Math.min(Math.floor(to / KEEP), kept.length - 1);
      state = copyOf(kept[place]);
      at = place * KEEP;
      forward(to);
      for (let unit = 0; unit < units; unit += 1) changed.push(unit);
    } else {
      forward(to, changed);
    }
    for (const unit of changed) show(unit);
    for (const what of marked) what.classList.remove("now");
    const step = at > 0 ? map.steps[at - 1] : null;
    marked = [];
    if (step && step[0] === PROGRAM) marked = [step[2], step[4], step[5]].filter((unit) => unit >= 0).map((unit) => cells[unit]);
    if (step && step[0] === TRIM) marked = [cells[step[2]]];
    if (step && step[0] === ERASE) marked = [frames[step[2]]];
    if (step && step[0] === BEGIN && map.reasons[step[2]].kind === "job") marked = [frames[map.reasons[step[2]].victim]];
    for (const what of marked) what.classList.add("now");
    part("said").textContent = said(step);
    const when = step ? `, at ${time(step[1])}` : "";
    part("where").textContent = `Step ${at.toLocaleString("en")} of ${map.steps.length.toLocaleString("en")}${when}.`;
    const [valid, stale, free] = [VALID, STALE, FREE].map((kind) => state.kind.reduce((sum, one) => sum + (one === kind), 0));
    const programs = state.host + state.copies + state.maps;
    const factor = state.host > 0 ? (programs / state.host).toFixed(3) : "-";
    part("counts").textContent = `So far: ${count(state.host, `host ${map.page}`)} written, ${count(state.copies, `${map.page}`)} copied, `
      + `${state.maps > 0 ? `${count(state.maps, `map ${map.page}`)} written, ` : ""}${count(state.erases, "erase")}, write amplification ${factor}. `
      + `Now: ${valid} valid, ${stale} stale, ${free} free.`;
    root.dataset.step = String(at);
    root.dataset.factor = factor;
    part("slider").value = String(at);
  };

  // Controls.
  const slider = part("slider");
  slider.max = String(map.steps.length);
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    part("play").textContent = "Play";
  };
  const play = () => {
    if (timer) return stop();
    if (at === map.steps.length) go(0);
    part("play").textContent = "Pause";
    timer = setInterval(() => {
      go(at + 1);
      if (at === map.steps.length) stop();
    }, 1000 / Number(part("speed").value));
    return undefined;
  };
  const by = (steps) => {
    stop();
    go(at + steps);
  };
  // The next step at which garbage collection or a merge begins.
  const seek = () => {
    stop();
    const next = map.steps.findIndex((step, place) => place >= at && step[0] === BEGIN);
    if (next >= 0) go(next + 1);
  };
  const press = { first: () => by(-at), back: () => by(-1), play, next: () => by(1), last: () => by(map.steps.length), seek };
  for (const [name, action] of Object.entries(press)) part(name).addEventListener("click", action);
  part("speed").addEventListener("change", () => {
    if (timer) {
      stop();
      play();
    }
  });
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  const KEYS = { ArrowRight: () => by(1), ArrowLeft: () => by(-1), Home: press.first, End: press.last };
  addEventListener("keydown", (event) => {
    const inside = event.target.closest?.("input, select, textarea");
    const own = event.key === "ArrowLeft" || event.key === "ArrowRight" || root.contains(event.target);
    if (inside || !own || event.altKey || event.ctrlKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  for (let unit = 0; unit < units; unit += 1) show(unit);
  go(map.steps.length);
})();
