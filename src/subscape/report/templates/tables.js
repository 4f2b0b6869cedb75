/* Tables: sorted by a click on a heading, filtered by the names of features, copied as text. */
const copied = async (text, said) => {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = "Copied.";
  } catch {
    const area = make("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    said.textContent = document.execCommand("copy") ? "Copied." : "This browser does not let pages copy.";
    area.remove();
  }
};

each("table.sortable", (table) => {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, place) => {
    if (!table.tBodies[0].rows[0]?.cells[place]?.dataset.sort) return;
    const button = make("button", { type: "button", class: "sort" }, ...heading.childNodes);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const value = parseFloat(row.cells[place].dataset.sort);
        return Number.isNaN(value) ? Infinity : value;
      };
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
});

each("input.filter", (field) => {
  const card = field.closest(".card");
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let found = 0;
    card.querySelectorAll(".lines li[data-feature]").forEach((line) => {
      const fits = !wanted || line.dataset.feature.toLowerCase().includes(wanted);
      line.hidden = !fits;
      found += fits;
    });
    card.querySelectorAll(".clusters details").forEach((more) => { if (wanted) more.open = true; });
    card.querySelector(".tools .said").textContent =
      wanted ? `${found} ${found === 1 ? "line" : "lines"} with "${field.value.trim()}"` : "";
  });
});

function asText(card) {
  const clean = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const lines = [clean(card.querySelector("h2")).replace(/^\d+ /, ""), ""];
  for (const row of card.querySelector("table.clusters").tBodies[0].rows) {
    const cells = [...row.cells];
    const name = row.querySelector(".called")?.textContent;
    const number = Number(cells[0].dataset.sort) + 1;
    const numbers = cells.slice(1, 4).map((cell) => `${cell.dataset.label} ${clean(cell)}`);
    lines.push([`cluster ${number}${name ? ` (${name})` : ""}`, ...numbers].join("\t"));
    for (const line of row.querySelectorAll(".lines li[data-feature]")) {
      const parts = [".interval", ".effect"].map((part) => clean(line.querySelector(part) || make("i")));
      lines.push(["", line.dataset.feature, ...parts].join("\t").trimEnd());
    }
  }
  return `${lines.join("\n")}\n`;
}
each("button.astext", (button) =>
  button.addEventListener("click", () => {
    const card = button.closest(".card");
    copied(asText(card), card.querySelector(".tools .said"));
  }));

/* Names that somebody gives to clusters: shown at once everywhere, kept by a command. */
const given = new Map();
const shellQuoted = (text) => (/^[\w.=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
each("input.naming", (field) => {
  const before = field.value;
  field.addEventListener("input", () => {
    const name = field.value.replace(/\s+/g, " ").trim();
    const [number, cluster] = field.dataset.place.split(".").map(Number);
    const view = views.find((v) => v.number === number);
    view.names[cluster - 1] = name;
    each(`[data-called="${field.dataset.place}"]`, (node) => { node.textContent = name; });
    if (name === before) given.delete(field.dataset.place);
    else given.set(field.dataset.place, name);
    const words = [...given].map(([place, called]) => shellQuoted(`${place}=${called}`));
    $("keep").hidden = !given.size;
    $("keep-command").textContent = `subscape rename ${shellQuoted(data.folder)} ${words.join(" ")}`;
    $("keep-said").textContent = "";
    if (nChosen) tell();
  });
});
$("keep-copy").addEventListener("click", () => copied($("keep-command").textContent, $("keep-said")));

/* The values themselves: a picture of rows by features. */
function drawHeat(canvas) {
  const view = views.find((v) => v.number === Number(canvas.dataset.view));
  const { names, rows, ends, steps } = view.heat;
  const order = rows.map((row, place) => place);
  const rank = (place) => { const k = view.labels[rows[place]]; return k < 0 ? view.k : k; };
  order.sort((a, b) => rank(a) - rank(b) || a - b);
  const cell = Math.max(18, Math.min(110, Math.floor(900 / names.length)));
  const tall = Math.max(1, Math.min(8, Math.round(420 / rows.length)));
  const margin = 12;
  canvas.width = margin + cell * names.length;
  canvas.height = tall * rows.length;
  canvas.style.width = `${canvas.width}px`;
  const brush = canvas.getContext("2d");
  const deep = colour("--accent"), pale = colour("--ground");
  brush.fillStyle = pale;
  brush.fillRect(0, 0, canvas.width, canvas.height);
  order.forEach((place, line) => {
    const k = view.labels[rows[place]];
    brush.globalAlpha = 1;
    brush.fillStyle = k < 0 ? colour("--soft") : getComputedStyle(canvas.closest(".card").querySelector(`.k${k % HUES}`)).getPropertyValue("--c");
    brush.fillRect(0, line * tall, margin - 4, tall);
    names.forEach((_, j) => {
      const step = steps[j * rows.length + place];
      brush.globalAlpha = 1;
      brush.fillStyle = step ? colour("--card") : colour("--soft");
      brush.fillRect(margin + j * cell, line * tall, cell - 1, tall);
      if (!step) return;
      brush.globalAlpha = 0.06 + (0.94 * (step - 1)) / 254;
      brush.fillStyle = deep;
      brush.fillRect(margin + j * cell, line * tall, cell - 1, tall);
    });
  });
  brush.globalAlpha = 1;
  const box = canvas.previousElementSibling;
  box.replaceChildren(...names.map((name, j) => {
    const label = make("span", { title: name }, name);
    label.style.left = `${margin + j * cell + cell / 2}px`;
    return label;
  }));
  // Room above for the longest name as it is turned; long ones are cut.
  const longest = Math.max(...[...box.children].map((label) => label.offsetWidth));
  box.parentElement.style.setProperty("--names", `${Math.ceil(longest * 0.85) + 8}px`);
  canvas.onpointermove = (event) => {
    const frame = canvas.getBoundingClientRect();
    const j = Math.floor(((event.clientX - frame.left) * canvas.width / frame.width - margin) / cell);
    const line = Math.floor((event.clientY - frame.top) * canvas.height / frame.height / tall);
    if (j < 0 || j >= names.length || !order[line] && order[line] !== 0) return;
    const place = order[line], step = steps[j * rows.length + place];
    const [low, high] = ends[j];
    const value = step ? (low + ((high - low) * (step - 1)) / 254).toPrecision(3) : "missing";
    const k = view.labels[rows[place]];
    canvas.dataset.tip = `${names[j]}: ${step ? "about " : ""}${value}\n${k < 0 ? "no cluster" : `cluster ${k + 1}`}, row ${data.rows[rows[place]] + 1}`;
  };
}
const heated = [];
each("canvas.heat", (canvas) => {
  const view = views.find((v) => v.number === Number(canvas.dataset.view));
  const box = canvas.closest("details");
  if (!view.heat) { box.remove(); return; }
  box.hidden = false;
  heated.push(canvas);
  box.addEventListener("toggle", () => { if (box.open) drawHeat(canvas); });
  if (box.open) drawHeat(canvas);
});
const redrawHeats = () => heated.forEach((canvas) => { if (canvas.closest("details").open) drawHeat(canvas); });
$("theme").addEventListener("click", redrawHeats);
wantsDark.addEventListener("change", redrawHeats);
