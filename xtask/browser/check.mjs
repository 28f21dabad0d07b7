// Opens reports in a browser and says what is wrong with them: `node check.mjs REPORT...`.
//
// Each is opened light and dark, at 360 and at 1200 pixels, and as it is printed. An error of a
// script, a line on the console, a request to the network, a plot that is missing or empty, and a
// page that is wider than the window are faults; so is a block map that does not step, or whose last
// state is not that of the run. The browser is $CHROME or that of
// @sparticuz/chromium. With $SHOTS pictures are written into that folder.
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

// The packages are not beside this file but in the folder that the task names.
const require = createRequire(path.join(process.env.PACKAGES ?? process.cwd(), "package.json"));
const load = async (name) => {
  const found = await import(pathToFileURL(require.resolve(name)));
  return found.default ?? found;
};
const puppeteer = await load("puppeteer-core");

const launch = async () => {
  const own = process.env.CHROME;
  if (own) {
    return puppeteer.launch({ executablePath: own, args: ["--no-sandbox"], headless: true });
  }
  const chromium = await load("@sparticuz/chromium");
  const executablePath = await chromium.executablePath();
  return puppeteer.launch({ args: chromium.args, executablePath, headless: "shell" });
};

const LOOKS = [];
for (const width of [360, 1200]) {
  for (const scheme of ["light", "dark"]) {
    LOOKS.push({ name: `${width} ${scheme}`, width, scheme, media: "screen" });
  }
}
LOOKS.push({ name: "print", width: 720, scheme: "light", media: "print" });

// What is wrong with the plots of a page; runs in the page.
const inspect = () => {
  const faults = [];
  const data = JSON.parse(document.getElementById("data").textContent);
  const marks = "path, rect, circle, line";
  for (const { id } of data.plots) {
    const figure = document.getElementById(`plot-${id}`);
    const svg = figure?.querySelector(".canvas svg");
    if (!svg) {
      faults.push(`plot ${id}: it is not there`);
      continue;
    }
    const drawn = [...svg.querySelectorAll(marks)].filter((mark) => {
      const label = mark.closest("[aria-label]")?.getAttribute("aria-label") ?? "";
      return mark.ownerSVGElement === svg && !/axis|grid|rule/.test(label);
    });
    const visible = drawn.filter((mark) => {
      const box = mark.getBBox();
      return box.width > 0 || box.height > 0;
    });
    if (visible.length === 0) faults.push(`plot ${id}: nothing is drawn`);
    for (const mark of svg.querySelectorAll("*")) {
      for (const { name, value } of mark.attributes) {
        if (/NaN|Infinity|undefined/.test(value)) {
          faults.push(`plot ${id}: ${name}="${value.slice(0, 60)}" of a ${mark.tagName}`);
        }
      }
    }
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const own = text.getBoundingClientRect();
      if (/NaN|undefined/.test(text.textContent)) faults.push(`plot ${id}: "${text.textContent}"`);
      if (own.width > 0 && (own.left < box.left - 2 || own.right > box.right + 2)) {
        faults.push(`plot ${id}: "${text.textContent}" is cut off`);
      }
    }
  }
  const drawn = document.querySelectorAll("figure").length;
  if (drawn !== data.plots.length) faults.push(`${data.plots.length} plots, ${drawn} figures`);
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push(`${scrollWidth} wide in ${clientWidth}`);
  const back = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  return { faults, plots: data.plots.length, bright: back[0] > 127 };
};

// What is wrong with the files that plots are saved as; runs in the page.
const savePlots = async () => {
  const faults = [];
  const blobs = [];
  URL.createObjectURL = (blob) => `blob:${blobs.push(blob)}`;
  URL.revokeObjectURL = () => {};
  HTMLAnchorElement.prototype.click = () => {};
  for (const figure of document.querySelectorAll("figure")) {
    figure.querySelector(".save").click();
    const text = await blobs.pop()?.text();
    const saved = new DOMParser().parseFromString(text ?? "", "image/svg+xml").documentElement;
    const wants = (is, what) => is || faults.push(`${figure.id} as SVG: ${what}`);
    wants(saved.tagName === "svg", `it is no SVG: ${saved.textContent.slice(0, 80)}`);
    const texts = [...saved.children].filter((one) => one.tagName === "text");
    const said = texts.map((one) => one.textContent);
    const legend = [...figure.querySelectorAll(".legend span")].map((one) => one.textContent);
    const title = figure.querySelector("b").textContent;
    // The note may take several lines.
    const note = figure.querySelector(".note")?.textContent ?? "";
    const expected = [title, note, ...legend].filter((one) => one).join(" ");
    wants(said.join(" ") === expected, `it says ${said.join(", ")}`);
    const names = text?.match(/<svg[^>]*>/)[0].match(/ xmlns="/g) ?? [];
    wants(names.length === 1, `it names its dialect ${names.length} times`);
    wants(saved.querySelector("svg svg")?.childElementCount > 1, "it has no plot");
    const [wide, high] = ["width", "height"].map((name) => Number(saved.getAttribute(name)));
    wants(wide > 100 && high > 60, `it is ${wide} times ${high}`);
  }
  return faults;
};

// What is wrong with the block map of a page, if it has one; runs in the page.
const stepMap = () => {
  const faults = [];
  const { map, results } = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("block-map");
  if (!map || !root) return map || root ? ["the block map lacks its data or its place"] : faults;
  const part = (name) => root.querySelector(`[data-part=${name}]`);
  const cells = [...root.querySelectorAll(".grid .row > i")];
  const picture = () => cells.map((cell) => cell.className.replace(/ ?now/, "")).join(",");
  const at = () => Number(root.dataset.step);
  const valid = () => cells.filter((cell) => /^valid/.test(cell.className)).length;
  const data = () => cells.filter((cell) => /^valid (host|copy|merge)/.test(cell.className)).length;
  const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
  const wants = (is, what) => is || faults.push(`block map: ${what}`);
  wants(cells.length === map.blocks * map.pages, `${cells.length} pages`);
  wants(at() === map.steps.length, `it opens at step ${at()}`);
  const last = picture();
  if (map.more === 0) wants(data() === map.logical, `${data()} valid pages, ${map.logical} written`);
  const factor = results.flash.write_amplification?.toFixed(3);
  if (map.more === 0 && Number(results.device.buffer?.bytes) === 0) {
    wants(root.dataset.factor === factor, `write amplification ${root.dataset.factor}, ${factor}`);
  }
  part("first").click();
  wants(at() === 0 && valid() === map.start.filter(([, state]) => state === 1).length, "no start");
  const begin = picture();
  part("next").click();
  press("ArrowRight");
  wants(at() === Math.min(2, map.steps.length) && picture() !== begin, "steps change nothing");
  press("ArrowLeft");
  part("back").click();
  wants(at() === 0 && picture() === begin, "a step back is not undone");
  // By single steps and by leaps the map must be the same.
  const middle = Math.floor(map.steps.length / 2);
  for (let step = 0; step < middle; step += 1) part("next").click();
  const stepped = picture();
  part("last").click();
  wants(picture() === last, "the last state is another one");
  part("slider").value = String(middle);
  part("slider").dispatchEvent(new Event("input"));
  wants(at() === middle && picture() === stepped, "a leap ends elsewhere");
  const words = new Set();
  part("first").click();
  while (at() < map.steps.length) {
    part("next").click();
    const said = part("said").textContent;
    words.add(said.split(" ").slice(0, 2).join(" "));
    if (!said || /undefined|NaN|null|-1/.test(said)) wants(false, `"${said}"`);
  }
  wants(words.size > 1, "every step says the same");
  return faults;
};

const check = async (browser, file, look) => {
  const faults = [];
  const page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("console", (line) => faults.push(`console: ${line.text()}`));
  page.on("request", (request) => {
    const url = request.url();
    const own = url === pathToFileURL(file).href;
    if (!own && !url.startsWith("data:")) faults.push(`request: ${url.slice(0, 100)}`);
  });
  await page.emulateMediaType(look.media);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look.scheme }]);
  await page.setViewport({ width: look.width, height: 900 });
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  const found = await page.evaluate(inspect);
  faults.push(...found.faults);
  faults.push(...await page.evaluate(stepMap));
  faults.push(...await page.evaluate(savePlots));
  const dark = look.scheme === "dark" && look.media === "screen";
  if (found.bright === dark) faults.push(`the page is ${dark ? "bright" : "dark"}`);
  if (look.media === "print") {
    const pdf = await page.pdf({ format: "A4" });
    if (pdf.length < 10_000) faults.push(`the printed page has ${pdf.length} bytes`);
  }
  if (process.env.SHOTS) {
    const name = path.basename(path.dirname(file));
    const shot = path.join(process.env.SHOTS, `${name}-${look.name.replace(" ", "-")}.png`);
    await page.screenshot({ path: shot, fullPage: true });
  }
  await page.close();
  return { faults, plots: found.plots };
};

const files = process.argv.slice(2).map((file) => path.resolve(file));
const missing = files.filter((file) => !existsSync(file));
if (files.length === 0 || missing.length > 0) {
  process.stderr.write(`name reports that are there; missing: ${missing.join(", ") || "all"}\n`);
  process.exit(2);
}
const browser = await launch();
let wrong = 0;
for (const file of files) {
  let plots = 0;
  for (const look of LOOKS) {
    const found = await check(browser, file, look);
    plots = found.plots;
    for (const fault of found.faults) process.stderr.write(`${file}, ${look.name}: ${fault}\n`);
    wrong += found.faults.length;
  }
  process.stdout.write(`${file}: ${plots} plots, ${LOOKS.length} looks\n`);
}
await browser.close();
process.exit(wrong > 0 ? 1 : 0);
