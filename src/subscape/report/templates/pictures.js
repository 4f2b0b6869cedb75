
/* Pictures are drawn when they are seen; what nobody sees waits. */
const pictures = new Map();
const stale = new Set();
function refresh(canvas) {
  stale.delete(canvas);
  pictures.get(canvas)();
}
const seen = new Set();
const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) seen.add(target);
    else seen.delete(target);
    if (isIntersecting && stale.has(target)) refresh(target);
  }
}, { rootMargin: "200px" });
function drawn(canvas, show) {
  pictures.set(canvas, show);
  stale.add(canvas);
  watcher.observe(canvas);
}
function redraw() {
  for (const canvas of pictures.keys()) {
    if (seen.has(canvas)) refresh(canvas);
    else stale.add(canvas);
  }
  catchUp();
}
/* One after the other, whenever there is time: whoever scrolls finds them ready. */
let idle = 0;
function catchUp() {
  clearTimeout(idle);
  const [next] = stale;
  if (next) idle = setTimeout(() => { refresh(next); catchUp(); }, 60);
}

/* A canvas as large as it is shown, in real pixels. */
function fitted(canvas) {
  const box = canvas.getBoundingClientRect();
  const scale = Math.min(devicePixelRatio || 1, 2);
  const [width, height] = [Math.round(box.width * scale), Math.round(box.height * scale)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, box.width, box.height);
  return { pen, width: box.width, height: box.height };
}

/* How wide the typical cluster is in the scatter, as a share of the picture. */
function spreadOf(view) {
  const sums = new Map();
  for (let i = 0; i < N; i++) {
    const sum = sums.get(view.labels[i]) || [0, 0, 0, 0, 0];
    const [x, y] = [view.x[i] / 65535, view.y[i] / 65535];
    sums.set(view.labels[i], [sum[0] + 1, sum[1] + x, sum[2] + y, sum[3] + x * x, sum[4] + y * y]);
  }
  const widths = [...sums.values()].map(([n, x, y, xx, yy]) =>
    Math.sqrt(Math.max(0, xx / n - (x / n) ** 2 + yy / n - (y / n) ** 2)));
  return widths.sort((a, b) => a - b)[widths.length >> 1];
}

/* Scatter of one view with a frame that selects. */
function scatter(canvas) {
  const view = views.find((v) => v.number === Number(canvas.dataset.view));
  const MARGIN = 18;
  let frame = null, start = null, adding = false;
  const radius = N > 2500 ? 2 : N > 800 ? 2.6 : 3.4;
  /* Rows that lie on each other, as nominal features make them, are shaken apart a little. */
  const heaps = new Set(Array.from({ length: N }, (_, i) => (view.x[i] >> 6) * 1024 + (view.y[i] >> 6)));
  const shake = spreadOf(view) < 0.015 || 2 * heaps.size < N ? 20 : 0;
  const noise = (i, salt) => shake * ((((i + 1) * salt) % 1) - 0.5);
  const spot = (i, width, height) => [
    MARGIN + (view.x[i] / 65535) * (width - 2 * MARGIN) + noise(i, 0.7548776662),
    height - MARGIN - (view.y[i] / 65535) * (height - 2 * MARGIN) + noise(i, 0.5698402910),
  ];

  function show() {
    const { pen, width, height } = fitted(canvas);
    if (!width) return;
    const hues = Array.from({ length: HUES }, (_, k) => colour(`--k${k}`));
    const [grey, ink, card] = [colour("--soft"), colour("--ink"), colour("--card")];
    const centres = new Map();
    const dots = (wanted, strength) => {
      pen.globalAlpha = strength;
      for (let i = 0; i < N; i++) {
        if (!wanted(i)) continue;
        const [x, y] = spot(i, width, height);
        const label = labelOf(view, i);
        pen.globalAlpha = isPale(view, label) ? 0.35 * strength : strength;
        pen.beginPath();
        pen.arc(x, y, label < 0 ? radius - 0.5 : radius, 0, 7);
        if (label < 0) {
          pen.strokeStyle = grey;
          pen.lineWidth = 1;
          pen.stroke();
        } else {
          pen.fillStyle = hues[hueOf(view, label) % HUES];
          pen.fill();
        }
      }
    };
    if (nChosen) {
      dots((i) => !chosen[i], 0.13);
      dots((i) => Boolean(chosen[i]), 0.95);
    } else dots(() => true, N > 2500 ? 0.6 : 0.75);
    pen.globalAlpha = 1;
    for (let i = 0; i < N; i++) {
      const label = labelOf(view, i);
      if (label < 0) continue;
      const [x, y] = spot(i, width, height);
      const sum = centres.get(label) || [0, 0, 0];
      centres.set(label, [sum[0] + x, sum[1] + y, sum[2] + 1]);
    }
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    for (const [label, [sumX, sumY, n]] of centres) {
      const [x, middle] = [sumX / n, sumY / n];
      /* The number of a small heap stands beside it. */
      const y = !shake ? middle : middle < 40 ? middle + 24 : middle - 24;
      pen.lineWidth = 4;
      pen.strokeStyle = card;
      pen.strokeText(called(label), x, y);
      pen.fillStyle = ink;
      pen.fillText(called(label), x, y);
    }
    if (frame) {
      const [x, y, w, h] = bounds(frame);
      pen.fillStyle = ink;
      pen.globalAlpha = 0.08;
      pen.fillRect(x, y, w, h);
      pen.globalAlpha = 1;
      pen.strokeStyle = ink;
      pen.lineWidth = 1.25;
      pen.strokeRect(x + 0.5, y + 0.5, w, h);
    }
  }
  const bounds = ([a, b, c, d]) => [Math.min(a, c), Math.min(b, d), Math.abs(c - a), Math.abs(d - b)];
  function select() {
    const { width, height } = canvas.getBoundingClientRect();
    const [x, y, w, h] = bounds(frame);
    choose((i) => {
      const [px, py] = spot(i, width, height);
      return px >= x && px <= x + w && py >= y && py <= y + h;
    }, adding);
  }
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.pointerType === "touch" && !canvas.classList.contains("grab"))) return;
    canvas.setPointerCapture(event.pointerId);
    start = place(event);
    adding = event.shiftKey;
    frame = [...start, ...start];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!start) return;
    frame = [...start, ...place(event)];
    show();
  });
  canvas.addEventListener("pointerup", () => {
    if (!start) return;
    const [, , w, h] = bounds(frame);
    if (w > 3 || h > 3) select();
    else if (!adding) choose(() => false);
    start = frame = null;
    show();
  });
  canvas.addEventListener("pointercancel", () => { start = frame = null; show(); });
  canvas.addEventListener("keydown", (event) => {
    const { width, height } = canvas.getBoundingClientRect();
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = Math.max(4, width / 40);
    if (!frame && (event.key in steps || "+-".includes(event.key) || event.key === "Enter")) {
      frame = [width * 0.4, height * 0.4, width * 0.6, height * 0.6];
    }
    if (event.key in steps) {
      const [dx, dy] = steps[event.key].map((s) => s * step);
      frame = [frame[0] + dx, frame[1] + dy, frame[2] + dx, frame[3] + dy];
    } else if (event.key === "+" || event.key === "-") {
      const grow = event.key === "+" ? step / 2 : -step / 2;
      const [x, y, w, h] = bounds(frame);
      if (w + 2 * grow > step && h + 2 * grow > step) frame = [x - grow, y - grow, x + w + grow, y + h + grow];
    } else if (event.key === "Enter" || event.key === " ") {
      adding = event.shiftKey;
      if (frame) select();
    } else if (event.key === "Escape") {
      frame = null;
    } else return;
    event.preventDefault();
    show();
  });
  canvas.addEventListener("blur", () => { frame = null; show(); });
  const touch = canvas.parentElement.querySelector(".touch");
  touch.addEventListener("click", () => {
    const grabs = canvas.classList.toggle("grab");
    touch.setAttribute("aria-pressed", grabs);
  });
  drawn(canvas, show);
}
each(".scatter", scatter);

/* The clusters of a view merged to another level: the picture and its legend follow. */
each("[data-legend]", (legend) => {
  const view = views.find((v) => v.number === Number(legend.dataset.legend));
  view.legend = legend;
  view.own = [...legend.querySelectorAll(".cluster:not(.none)")];
});
function cutAt(view, k) {
  view.cut = view.levels.find((level) => level.k === k) || null;
  const merged = (_, number) => {
    const parts = view.cut.to.flatMap((to, own) => (to === number ? [own + 1] : []));
    const button = make("button", {
      type: "button", class: `cluster ${paint("k", view.cut.hues[number])}`, "data-view": view.number,
      "data-cluster": number, "data-level": k, "data-tip": `clusters ${parts.join(", ")} of the view`,
      "aria-label": `Select the rows of cluster ${number + 1} of ${k} of view ${view.number}`,
    });
    button.append(make("span", { class: "dot" }), called(number));
    return button;
  };
  view.legend.querySelectorAll(".cluster:not(.none)").forEach((button) => button.remove());
  view.legend.prepend(...(view.cut ? Array.from({ length: k }, merged) : view.own));
  each(`[data-cut][data-view="${view.number}"]`, (mark) => {
    const isShown = Number(mark.dataset.cut) === k;
    if (mark.tagName === "BUTTON") mark.setAttribute("aria-pressed", isShown);
    else mark.classList.toggle("shown", isShown);
  });
  tell();
  redraw();
}
each("[data-cut]", (mark) => {
  const view = views.find((v) => v.number === Number(mark.dataset.view));
  mark.addEventListener("click", () => cutAt(view, Number(mark.dataset.cut)));
  if (mark.tagName !== "BUTTON") mark.classList.toggle("shown", Number(mark.dataset.cut) === view.k);
});

/* Distances of the results: dark = the same. */
function matrix(canvas) {
  const n = data.results.length;
  const upper = unpack(data.matrix, false);
  const at = (i, j) => {
    if (i === j) return 0;
    const [a, b] = i < j ? [i, j] : [j, i];
    return upper[(a * (2 * n - a - 1)) / 2 + b - a - 1];
  };
  function show() {
    Object.assign(canvas, { width: n, height: n });
    const pen = canvas.getContext("2d");
    const picture = pen.createImageData(n, n);
    const near = isDark() ? [168, 205, 240] : [29, 62, 100];
    const far = isDark() ? [32, 37, 42] : [244, 242, 236];
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
      const t = at(i, j) / 255;
      for (let c = 0; c < 3; c++) picture.data[4 * (i * n + j) + c] = near[c] + (far[c] - near[c]) * t;
      picture.data[4 * (i * n + j) + 3] = 255;
    }
    pen.putImageData(picture, 0, 0);
  }
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const clip = (value) => Math.max(0, Math.min(n - 1, Math.floor(value)));
    const j = clip(((event.clientX - box.left) / box.width) * n);
    const i = clip(((event.clientY - box.top) / box.height) * n);
    const name = (r) => `${r[0]}${r[1] ? `, view ${r[1]}` : ""}`;
    const [a, b] = [data.results[i], data.results[j]];
    showTip(i === j ? name(a) : `${name(a)}\n${name(b)}\ndistance ${(at(i, j) / 255).toFixed(2)}`, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => showTip(""));
  drawn(canvas, show);
}
if ($("matrix")) matrix($("matrix"));

/* Who is split by whom. */
function split(pair) {
  const [a, b] = pair.split("-").map(Number);
  const stored = data.pairs[a < b ? `${a}-${b}` : `${b}-${a}`];
  const table = a < b ? stored : stored[0].map((_, j) => stored.map((row) => row[j]));
  const sum = (list) => list.reduce((total, value) => total + value, 0);
  const isUsed = (list) => sum(list) > 0;
  const columns = table[0].map((_, j) => j).filter((j) => isUsed(table.map((row) => row[j])));
  const rows = table.map((_, i) => i).filter((i) => isUsed(table[i]));
  const label = (k, n) => {
    const isNone = k === n - 1;
    const node = make("span", { class: `cluster ${isNone ? "none" : paint("k", k)}` });
    node.append(make("span", { class: "dot" }), isNone ? "none" : called(k));
    return node;
  };
  const head = make("tr");
  head.append(make("td"));
  for (const j of columns) {
    const cell = make("th", { scope: "col" });
    cell.append(label(j, table[0].length));
    head.append(cell);
  }
  const body = rows.map((i) => {
    const line = make("tr");
    const name = make("th", { scope: "row" });
    name.append(label(i, table.length));
    line.append(name);
    for (const j of columns) {
      const share = table[i][j] / sum(table[i]);
      const cell = make("td", { class: `count s${Math.round(10 * share)}` }, table[i][j]);
      cell.append(make("span", { class: "muted" }, `${Math.round(100 * share)} %`));
      line.append(cell);
    }
    return line;
  });
  const words = make("p");
  words.append("Clusters of view ", badge(a), " (down), split by view ", badge(b), " (across): rows, and share of the cluster.");
  const grid = make("table", { "aria-label": `Clusters of view ${a} split by view ${b}` });
  grid.append(head, ...body);
  $("split").replaceChildren(words, grid);
  each("[data-pair]", (button) => button.setAttribute("aria-pressed", button.dataset.pair === pair));
}
each("[data-pair]", (button) => button.addEventListener("click", () => split(button.dataset.pair)));
const firstPair = document.querySelector("[data-pair][aria-pressed=true]");
if (firstPair) split(firstPair.dataset.pair);

let waiting = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(redraw);
});
catchUp();
addEventListener("beforeprint", () => pictures.forEach((show, canvas) => refresh(canvas)));
