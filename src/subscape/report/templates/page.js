"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const each = (selector, act) => document.querySelectorAll(selector).forEach(act);
const HUES = 12;

/* Texts only ever enter the page as text. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return node;
}
const SVG = document.querySelector("svg").namespaceURI;
function draw(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function unpack(text, wide) {
  const raw = atob(text);
  const bytes = Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
  if (!wide) return bytes;
  const view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true));
}

/* Numbers of the shown rows, by view; labels begin at -1 for rows in no cluster. */
const N = data.rows.length;
const views = data.views.map((view) => ({
  number: view.number,
  name: view.name,
  k: view.k,
  levels: view.levels,
  pale: new Set(view.pale),
  cut: null, /* the level that is shown: null is the view's own */
  labels: Int32Array.from(unpack(view.labels, true), (label) => label - 1),
  sure: unpack(view.sure, false),
  x: unpack(view.x, true),
  y: unpack(view.y, true),
  several: new Map(view.several),
  names: Array.from({ length: view.k }, (_, k) => view.names[k] || ""),
  heat: view.heat && { ...view.heat, steps: unpack(view.heat.steps, false) },
}));
/* What a row's cluster is called at a level, and its colour: that of the first cluster in it. */
const labelOf = (view, row, cut = view.cut) => (cut && view.labels[row] >= 0 ? cut.to[view.labels[row]] : view.labels[row]);
const hueOf = (view, number, cut = view.cut) => (cut && number >= 0 ? cut.hues[number] : number);
const isIn = (view, row, cluster, cut = null) =>
  !cut && view.several.has(row) ? view.several.get(row).includes(cluster) : labelOf(view, row, cut) === cluster;
const clustersOf = (view, row) => (!view.cut && view.several.get(row)) || [labelOf(view, row)];
const isPale = (view, number) => !view.cut && view.pale.has(number);
const paint = (letter, number) => (number < 0 ? "none" : letter + (number % HUES));
/* People count from 1. */
const called = (number) => (number < 0 ? "none" : number + 1);
const fromOne = (label) => (label < 0 ? -1 : label + 1);
const badge = (number) => make("span", { class: `badge ${paint("v", number - 1)}` }, number);
const rowsWord = (n) => (n === 1 ? "1 row" : `${n.toLocaleString("en").replaceAll(",", "\u202f")} rows`);

/* Light and dark. */
const root = document.documentElement;
const wantsDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : wantsDark.matches);
$("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  redraw();
});
wantsDark.addEventListener("change", () => redraw());
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/* What is under the pointer. */
const tip = $("tip");
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = !text;
  if (!text) return;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
}
document.addEventListener("pointermove", (event) => {
  if (event.target.id === "matrix") return;
  const marked = event.target.closest?.("[data-tip]");
  showTip(marked ? marked.dataset.tip : "", event.clientX, event.clientY);
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") showTip(""); });

/* Files. */
/* What a spreadsheet would take for a formula gets a mark in front. */
const harmless = (cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell);
const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
function csv(rows) {
  const cuts = views.filter((view) => view.cut);
  const named = views.filter((view) => view.names.some(Boolean));
  const head = ["row", ...views.map((view) => view.name), ...named.map((view) => `${view.name}_name`), ...cuts.map((view) => `${view.name}_at_${view.cut.k}`)];
  const lines = [head.join(",")];
  for (const i of rows) {
    const name = data.cells ? quoted(data.cells[i]) : data.rows[i] + 1;
    const words = named.map((view) => quoted(harmless(view.names[view.labels[i]] || "")));
    lines.push([name, ...views.map((view) => fromOne(view.labels[i])), ...words, ...cuts.map((view) => fromOne(labelOf(view, i)))].join(","));
  }
  return `${lines.join("\n")}\n`;
}
function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
$("download")?.addEventListener("click", () => download("labels.csv", csv(Array.from({ length: N }, (_, i) => i))));

$("copy").addEventListener("click", async () => {
  const paper = $("paper");
  const references = [...paper.querySelectorAll("li")].map((item, i) => `[${i + 1}] ${item.textContent}`);
  const text = [paper.querySelector("p").textContent, ...references].join("\n");
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(paper);
    $("copied").textContent = "Marked: copy it with your keyboard.";
  }
});
