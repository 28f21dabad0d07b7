"use strict";
// Draws the plots that the data names, each into the figure of its name. All figures are in base
// units (ns, B/s, mW, pJ); the axes choose the unit that people read.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const COLORS = ["#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2", "#6cc5b0", "#ff8ab7",
    "#9c6b4e", "#97bbf5", "#9498a0", "#1b8f9c", "#c4483a", "#8aa02b", "#7a5ecb", "#d98ac0",
    "#b08a2e", "#4f8d78"];
  const color = (place) => COLORS[place % COLORS.length];
  const SCALES = {
    ns: [[1, "ns"], [1e3, "us"], [1e6, "ms"], [1e9, "s"]],
    "B/s": [[1, "B/s"], [1e3, "kB/s"], [1e6, "MB/s"], [1e9, "GB/s"]],
    mW: [[1e-3, "uW"], [1, "mW"], [1e3, "W"]],
    pJ: [[1, "pJ"], [1e3, "nJ"], [1e6, "uJ"], [1e9, "mJ"], [1e12, "J"]],
    "J/MB": [[1e-6, "uJ/MB"], [1e-3, "mJ/MB"], [1, "J/MB"]],
  };
  // The unit in which the greatest value is at least 1.
  const unitOf = (unit, most) => {
    const all = SCALES[unit];
    if (!all) return [1, unit];
    return all.filter(([by]) => most >= by).pop() || all[0];
  };
  const short = (value) => {
    if (value === null || !Number.isFinite(value)) return "-";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) return value.toPrecision(3).replace(/\.?0+e/, "e");
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    const text = value.toFixed(digits);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  const say = (value, unit) => {
    if (value === null || !Number.isFinite(value)) return "-";
    const [by, name] = unitOf(unit, Math.abs(value));
    return name ? `${short(value / by)} ${name}` : short(value);
  };
  const label = (what, unit) => (what && unit ? `${what} (${unit})` : what || unit || null);
  const most = (values) => values.reduce((a, b) => (b !== null && b > a ? b : a), 0);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "12px system-ui, sans-serif";
  const long = (text) => pen.measureText(text).width;
  const cut = (text, width) => {
    if (long(text) <= width) return text;
    let letters = text.length - 1;
    while (letters > 1 && long(`${text.slice(0, letters)}\u2026`) > width) letters -= 1;
    return `${text.slice(0, letters).trimEnd()}\u2026`;
  };
  const longest = (texts) => texts.reduce((a, text) => Math.max(a, long(text)), 18);
  const legend = (figure, names) => {
    const place = figure.querySelector(".legend");
    place.replaceChildren(...(names.length < 2 ? [] : names.map((name, at) => {
      const entry = document.createElement("span");
      const box = document.createElement("i");
      box.style.background = color(at);
      entry.append(box, name);
      return entry;
    })));
  };
  const ticks = (width) => Math.max(3, Math.floor(width / 95));
  // Where a value axis says its name: beside the ticks there is no room for it.
  const base = (width, options) => ({ width, marginTop: 26, marginRight: 16, marginBottom: 40,
    style: { fontSize: "12px", background: "none" }, ...options });
  const leftOf = (texts, width) => Math.min(width * 0.42, 14 + longest(texts));

  const timeAxis = (xs) => unitOf("ns", most(xs));

  const DRAW = {
    // Lines over a number: time, latency.
    lines(one, width, figure) {
      legend(figure, one.series.map((series) => series.name));
      const log = one.x.log;
      const xs = one.series.flatMap((series) => series.points.map(([x]) => x));
      const ys = one.series.flatMap((series) => series.points.map(([, y]) => y));
      const [byX, unitX] = log ? [1, ""] : unitOf(one.x.unit, most(xs));
      const [byY, unitY] = one.y.log ? [1, ""] : unitOf(one.y.unit, most(ys));
      const rows = one.series.flatMap((series, at) => series.points
        .filter(([x, y]) => y !== null && !(log && x <= 0) && !(one.y.log && y <= 0))
        .map(([x, y]) => ({ x: x / byX, y: y / byY, at, name: series.name })));
      const texts = d3.ticks(0, most(ys) / byY, 5).map(short);
      const [low, high] = d3.extent(rows, (row) => row.x);
      const decades = log ? d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
        .map((power) => 10 ** power) : undefined;
      const few = log && decades.length <= 3;
      const marks = few ? decades.flatMap((power) => [1, 2, 5].map((by) => by * power)) : decades;
      const inside = log ? marks.filter((x) => x >= low * 0.95 && x <= high * 1.05) : undefined;
      return Plot.plot(base(width, {
        height: 260,
        marginLeft: one.y.log ? 62 : 18 + longest(texts),
        x: log ? { type: "log", label: one.x.label, ticks: inside.length > 1 ? inside : 3,
          tickFormat: (x) => say(x, one.x.unit) }
          : { label: label(one.x.label, unitX), ticks: ticks(width), tickFormat: short },
        y: one.y.log
          ? { type: "log", label: one.y.label, grid: true, tickFormat: (y) => `${short(y)} ${one.y.unit}`,
            ticks: d3.range(Math.ceil(Math.log10(d3.min(rows, (row) => row.y))),
              Math.floor(Math.log10(d3.max(rows, (row) => row.y))) + 1).map((power) => 10 ** power) }
          : { label: label(one.y.label, unitY), grid: true, ticks: 5, tickFormat: short,
            domain: one.y.top ? [0, one.y.top / byY] : [0, (most(ys) / byY) || 1] },
        marks: [
          Plot.ruleY(one.y.log ? [] : [0], { strokeOpacity: 0.4 }),
          Plot.line(rows, { x: "x", y: "y", z: "at", stroke: (row) => color(row.at),
            strokeWidth: 1.6, curve: one.step ? "step-after" : "linear" }),
          ...(rows.length <= 40 ? [Plot.dot(rows, { x: "x", y: "y", r: 2,
            fill: (row) => color(row.at) })] : []),
        ],
      }));
    },
    // Areas above one another, over time.
    area(one, width, figure) {
      legend(figure, one.series.map((series) => series.name));
      const [byX, unitX] = timeAxis([most(one.ends)]);
      const sums = one.ends.map((_, at) => d3.sum(one.series, (series) => series.values[at]));
      const [byY, unitY] = unitOf(one.y.unit, most(sums));
      const rows = [];
      one.ends.forEach((end, at) => {
        let from = 0;
        one.series.forEach((series, number) => {
          const to = from + (series.values[at] || 0) / byY;
          rows.push({ x1: (at ? one.ends[at - 1] : 0) / byX, x2: end / byX, y1: from, y2: to,
            number });
          from = to;
        });
      });
      const texts = d3.ticks(0, most(sums) / byY, 5).map(short);
      return Plot.plot(base(width, {
        height: 240,
        marginLeft: 18 + longest(texts),
        x: { label: label(one.x.label, unitX), ticks: ticks(width), tickFormat: short },
        y: { label: label(one.y.label, unitY), grid: true, ticks: 5, tickFormat: short,
          domain: [0, (most(sums) / byY) || 1] },
        marks: [
          Plot.rect(rows, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: (row) => color(row.number),
            shapeRendering: "crispEdges" }),
          Plot.ruleY([0], { strokeOpacity: 0.4 }),
        ],
      }));
    },
    // Bars that are made of parts, a row each.
    stack(one, width, figure) {
      legend(figure, one.parts);
      const totals = one.rows.map((row) => d3.sum(row.values));
      const [by, unit] = one.share ? [1, "%"] : unitOf(one.x.unit, most(totals));
      const rows = one.rows.flatMap((row, at) => {
        let from = 0;
        const whole = one.share ? totals[at] / 100 : by;
        return row.values.map((value, part) => {
          const to = from + (whole > 0 ? value / whole : 0);
          const found = { name: row.name, x1: from, x2: to, part };
          from = to;
          return found;
        }).filter((found) => found.x2 > found.x1);
      });
      const left = leftOf(one.rows.map((row) => row.name), width);
      return Plot.plot(base(width, {
        height: 66 + 34 * one.rows.length,
        marginLeft: left,
        x: { label: label(one.x.label, unit), ticks: ticks(width - left), tickFormat: short,
          grid: true },
        y: { label: null, domain: one.rows.map((row) => row.name),
          tickFormat: (name) => cut(name, left - 10), tickSize: 0 },
        marks: [
          Plot.barX(rows, { x1: "x1", x2: "x2", y: "name", fill: (row) => color(row.part),
            insetTop: 2, insetBottom: 2 }),
          Plot.ruleX([0], { strokeOpacity: 0.4 }),
        ],
      }));
    },
    // A bar a row, with its value behind it.
    bars(one, width) {
      const values = one.rows.map((row) => row.value);
      const [by, unit] = unitOf(one.x.unit, most(values));
      const left = leftOf(one.rows.map((row) => row.name), width);
      const rows = one.rows.map((row) => ({ name: row.name, x: row.value / by, value: row.value }));
      return Plot.plot(base(width, {
        height: 66 + 24 * rows.length,
        marginLeft: left,
        marginRight: 76,
        x: { label: label(one.x.label, unit), ticks: ticks(width - left - 60), tickFormat: short,
          grid: true },
        y: { label: null, domain: one.rows.map((row) => row.name),
          tickFormat: (name) => cut(name, left - 10), tickSize: 0 },
        marks: [
          Plot.barX(rows, { x: "x", y: "name", fill: color(0), insetTop: 2, insetBottom: 2 }),
          Plot.text(rows, { x: "x", y: "name", text: (row) => say(row.value, one.x.unit),
            textAnchor: "start", dx: 4, fill: "currentColor" }),
          Plot.ruleX([0], { strokeOpacity: 0.4 }),
        ],
      }));
    },
    // A column a number: dies, channels, erases.
    columns(one, width) {
      const rows = one.values.map(([x, y]) => ({ x1: x - 0.5, x2: x + 0.5, y }));
      const high = one.y.top || most(rows.map((row) => row.y)) || 1;
      const texts = d3.ticks(0, high, 5).map(short);
      const [first, last] = [rows[0].x1, rows[rows.length - 1].x2];
      const whole = d3.ticks(first + 0.5, last - 0.5, ticks(width)).filter(Number.isInteger);
      const gap = rows.length * 4 < width - 80 && last - first < 150 ? 1 : 0;
      return Plot.plot(base(width, {
        height: 220,
        marginLeft: 18 + longest(texts),
        x: { label: one.x.label, domain: [first, last], ticks: whole.length ? whole : [first + 0.5],
          tickFormat: (x) => String(x) },
        y: { label: label(one.y.label, one.y.unit), grid: true, ticks: 5, tickFormat: short,
          domain: [0, high] },
        marks: [
          Plot.rect(rows, { x1: "x1", x2: "x2", y1: 0, y2: "y", fill: color(0), insetLeft: gap,
            insetRight: gap }),
          Plot.ruleY([0], { strokeOpacity: 0.4 }),
        ],
      }));
    },
    // A figure of several runs: a place a run, a colour a series. Lines join places that are
    // numbers; words have bars, or dots where bars would be too thin.
    points(one, width, figure) {
      legend(figure, one.series.map((series) => series.name));
      const values = one.series.flatMap((series) => series.values);
      const [by, unit] = unitOf(one.y.unit, most(values));
      const names = one.names;
      const rows = one.series.flatMap((series, at) => series.values
        .map((value, place) => ({ place, y: value, at }))
        .filter((row) => row.y !== null)
        .map((row) => ({ ...row, y: row.y / by })));
      const lowest = Math.min(0, ...rows.map((row) => row.y));
      const texts = d3.ticks(lowest, most(values) / by, 5).map(short);
      const room = (width - 80) / names.length;
      const wide = Math.min(longest(names), 130);
      const turned = longest(names) + 8 > room;
      const shown = Math.ceil(names.length * 15 / (width - 80));
      const thick = 0.8 / one.series.length;
      const bars = !one.joined && thick * room >= 3;
      const marks = [Plot.ruleY([0], { strokeOpacity: 0.4 })];
      if (one.joined) {
        marks.push(Plot.line(rows, { x: "place", y: "y", z: "at", stroke: (row) => color(row.at),
          strokeOpacity: 0.55 }));
      }
      if (bars) {
        const from = (row) => row.place + Math.max(row.at * thick - 0.4, -0.25 * one.series.length);
        marks.push(Plot.rect(rows, { x1: from, x2: (row) => from(row) + Math.min(thick, 0.5),
          y1: 0, y2: "y", fill: (row) => color(row.at) }));
      } else {
        marks.push(Plot.dot(rows, { x: "place", y: "y", r: 3.5, fill: (row) => color(row.at) }));
      }
      return Plot.plot(base(width, {
        height: 215 + (turned ? wide * 0.7 : 0),
        marginBottom: turned ? 30 + wide * 0.7 : 30,
        marginLeft: 18 + longest(texts),
        x: { type: "linear", domain: [-0.5, names.length - 0.5], label: null,
          ticks: d3.range(0, names.length, shown), tickRotate: turned ? -40 : 0,
          tickFormat: (place) => cut(names[place], turned ? 130 : 400) },
        y: { label: label(one.y.label, unit), grid: true, ticks: 5, tickFormat: short,
          domain: [lowest, Math.max(most(values) / by, lowest + 1e-12) * 1.04] },
        marks,
      }));
    },
    // Several values a row: a dot a column.
    dots(one, width, figure) {
      legend(figure, one.series.map((series) => series.name));
      const values = one.series.flatMap((series) => series.values);
      const [by, unit] = unitOf(one.x.unit, most(values.map((value) => Math.abs(value))));
      const rows = one.series.flatMap((series, at) => series.values
        .map((value, place) => ({ row: String(place), x: value, at }))
        .filter((row) => row.x !== null)
        .map((row) => ({ ...row, x: row.x / by })));
      const left = leftOf(one.names, width);
      return Plot.plot(base(width, {
        height: 66 + 19 * one.names.length,
        marginLeft: left,
        x: { label: label(one.x.label, unit), ticks: ticks(width - left), tickFormat: short,
          grid: true, zero: true, type: "linear" },
        y: { type: "point", label: null, domain: one.names.map((_, at) => String(at)),
          tickFormat: (at) => cut(one.names[Number(at)], left - 10), tickSize: 0 },
        marks: [
          Plot.gridY({ strokeOpacity: 0.08 }),
          Plot.ruleX([0], { strokeOpacity: 0.4 }),
          Plot.dot(rows, { x: "x", y: "row", r: 3.6, fill: (row) => color(row.at),
            fillOpacity: 0.85 }),
        ],
      }));
    },
    // Published figures as bars across, ours as dots with where one more run would lie.
    published(one, width, figure) {
      const colors = { yes: "#3ca951", part: "#efb118", no: "#ff5c4d", open: "#9498a0" };
      const place = figure.querySelector(".legend");
      // Words of one class have one colour and one entry.
      const words = (name) => [...new Set(one.rows.filter((row) => row.class === name)
        .map((row) => row.verdict))];
      const said = Object.keys(colors).filter((name) => words(name).length > 0);
      place.replaceChildren(...said.map((name) => {
        const entry = document.createElement("span");
        const box = document.createElement("i");
        box.style.background = colors[name];
        entry.append(box, `ours: ${words(name).join(", ")}`);
        return entry;
      }));
      const mark = document.createElement("span");
      mark.textContent = "| published, as precisely as it is printed";
      place.append(mark);
      const left = leftOf(one.rows.map((row) => row.name), width);
      const rows = one.rows.map((row, at) => ({ ...row, at: String(at) }));
      return Plot.plot(base(width, {
        height: 66 + 22 * rows.length,
        marginLeft: left,
        x: { label: label(one.x.label, one.x.unit), ticks: ticks(width - left), tickFormat: short,
          grid: true, type: "linear" },
        y: { type: "band", label: null, domain: rows.map((row) => row.at), padding: 0.25,
          tickFormat: (at) => cut(rows[Number(at)].name, left - 10), tickSize: 0 },
        marks: [
          Plot.ruleX([0], { strokeOpacity: 0.3 }),
          Plot.barX(rows, { x1: (row) => row.published - row.half, x2: (row) => row.published + row.half,
            y: "at", fill: "currentColor", fillOpacity: 0.25 }),
          Plot.tickX(rows, { x: "published", y: "at", stroke: "currentColor", strokeWidth: 2 }),
          Plot.ruleY(rows.filter((row) => row.low !== null), { x1: "low", x2: "high", y: "at",
            stroke: (row) => colors[row.class], strokeWidth: 2 }),
          Plot.dot(rows.filter((row) => row.found !== null), { x: "found", y: "at", r: 4,
            fill: (row) => colors[row.class] }),
        ],
      }));
    },
  };

  // A plot as a file of its own: its title, its legend, and the drawing in the colours of the page.
  const NS = "http://www.w3.org/2000/svg";
  const node = (name, attributes, text) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // Lines of whole words that are at most so wide.
  const broken = (text, width) => text.split(" ").filter((word) => word).reduce((lines, word) => {
    const more = lines.length > 0 ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length > 0 && long(more) <= width) lines[lines.length - 1] = more;
    else lines.push(word);
    return lines;
  }, []);
  const picture = (figure) => {
    const drawn = figure.querySelector(".canvas svg");
    const [width, height] = ["width", "height"].map((name) => Number(drawn.getAttribute(name)));
    const look = getComputedStyle(document.body);
    const whole = node("svg", { "font-family": "system-ui, sans-serif", "font-size": 12,
      fill: look.color, color: look.color });
    const title = figure.querySelector("b").textContent;
    whole.append(node("rect", { width: "100%", height: "100%", fill: look.backgroundColor }),
      node("text", { x: 8, y: 20, "font-weight": 600, "font-size": 14 }, title));
    let [x, y] = [8, 40];
    // The note says what the places of the x axis are.
    const note = figure.querySelector(".note")?.textContent ?? "";
    for (const line of broken(note, width - 16)) {
      whole.append(node("text", { x, y, "fill-opacity": 0.75 }, line));
      y += 17;
    }
    const first = y;
    for (const entry of figure.querySelectorAll(".legend span")) {
      const box = entry.querySelector("i");
      const wide = long(entry.textContent) + (box ? 32 : 20);
      if (x > 8 && x + wide > width) [x, y] = [8, y + 17];
      if (box) whole.append(node("rect", { x, y: y - 9, width: 9, height: 9, fill: box.style.background }));
      whole.append(node("text", { x: x + (box ? 14 : 0), y }, entry.textContent));
      x += wide;
    }
    const top = x > 8 ? y + 8 : first - 12;
    const inner = drawn.cloneNode(true);
    inner.setAttribute("y", top);
    inner.style.setProperty("--plot-background", look.backgroundColor);
    whole.append(inner);
    whole.setAttribute("width", width);
    whole.setAttribute("height", height + top);
    whole.setAttribute("viewBox", `0 0 ${width} ${height + top}`);
    return new XMLSerializer().serializeToString(whole);
  };
  const save = (figure) => {
    const file = new Blob([picture(figure)], { type: "image/svg+xml" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = `${figure.id.replace(/^plot-/, "")}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  for (const button of document.querySelectorAll(".save")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button.closest("figure")));
  }

  const draw = () => {
    for (const one of data.plots) {
      const figure = document.getElementById(`plot-${one.id}`);
      const canvas = figure.querySelector(".canvas");
      const width = Math.max(280, Math.floor(canvas.clientWidth));
      if (canvas.dataset.width === String(width)) continue;
      canvas.dataset.width = String(width);
      const drawn = DRAW[one.type](one, width, figure);
      const svg = drawn.matches("svg") ? drawn : drawn.querySelector("svg");
      if (svg) {
        svg.setAttribute("role", "img");
        svg.setAttribute("aria-label", figure.querySelector("b").textContent);
      }
      canvas.replaceChildren(drawn);
    }
  };
  draw();
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(draw);
  });
})();
