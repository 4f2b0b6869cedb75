
/* The selected rows: one set for the whole page. */
const chosen = new Uint8Array(N);
let nChosen = 0;
const MOST_LISTED = 100;

function choose(test, add = false) {
  nChosen = 0;
  for (let i = 0; i < N; i++) {
    chosen[i] = (add && chosen[i]) || test(i) ? 1 : 0;
    nChosen += chosen[i];
  }
  tell();
  redraw();
}
const chosenRows = () => Array.from({ length: N }, (_, i) => i).filter((i) => chosen[i]);

function tell() {
  const panel = $("selection");
  panel.hidden = nChosen === 0;
  document.body.classList.toggle("choosing", nChosen > 0);
  const ofAll = N < data.total ? ` of the ${rowsWord(N)} on this page` : ` of ${N}`;
  $("chosen-title").textContent = nChosen ? `${rowsWord(nChosen)} selected${ofAll}` : "";
  if (!nChosen) return;
  const rows = chosenRows();
  $("mix").replaceChildren(...views.map((view) => mixture(view, rows)));
  const head = make("tr");
  head.append(make("th", { scope: "col" }, "row"));
  if (data.ids) head.append(make("th", { scope: "col" }, "id"));
  for (const view of views) {
    const cell = make("th", { scope: "col", "aria-label": `cluster in view ${view.number}` });
    cell.append(badge(view.number));
    head.append(cell);
  }
  document.querySelector("#who thead").replaceChildren(head);
  document.querySelector("#who tbody").replaceChildren(...rows.slice(0, MOST_LISTED).map(person));
  const more = rows.length - MOST_LISTED;
  $("rest").textContent = more > 0 ? `And ${rowsWord(more)} more; all are in the download.` : "";
}

/* How the selected rows spread over the clusters of a view. */
function mixture(view, rows) {
  const counts = new Map();
  for (const row of rows) for (const k of clustersOf(view, row)) counts.set(k, (counts.get(k) || 0) + 1);
  const order = [...counts.keys()].sort((a, b) => (a < 0) - (b < 0) || a - b);
  const total = order.reduce((sum, k) => sum + counts.get(k), 0);
  const bar = draw("svg", { viewBox: "0 0 100 9", preserveAspectRatio: "none", "aria-hidden": "true" });
  let x = 0;
  for (const k of order) {
    const width = (100 * counts.get(k)) / total;
    bar.append(draw("rect", { x, y: 0, width, height: 9, class: paint("k", hueOf(view, k)) }));
    x += width;
  }
  const words = order.map((k) => `${called(k)}: ${counts.get(k)}`).join(", ");
  const box = make("div", { "data-mix": view.number });
  box.append(badge(view.number), bar, make("span", { class: "muted" }, words));
  return box;
}

function person(row) {
  const line = make("tr");
  line.append(make("th", { scope: "row" }, data.rows[row] + 1));
  if (data.ids) line.append(make("td", {}, data.ids[row]));
  for (const view of views) {
    const cell = make("td", { title: `${view.sure[row]} % sure` });
    for (const k of clustersOf(view, row)) {
      cell.append(make("span", { class: `pip ${paint("k", hueOf(view, k))}` }, called(k)), " ");
    }
    line.append(cell);
  }
  return line;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button.cluster");
  if (!button) return;
  const view = views.find((v) => v.number === Number(button.dataset.view));
  const level = view.levels.find(({ k }) => k === Number(button.dataset.level)) || null;
  choose((i) => isIn(view, i, Number(button.dataset.cluster), level), event.shiftKey);
});
$("clear").addEventListener("click", () => choose(() => false));
$("chosen-csv").addEventListener("click", () => download("selected.csv", csv(chosenRows())));
$("fold").addEventListener("click", () => {
  const open = $("fold").getAttribute("aria-expanded") !== "true";
  $("fold").setAttribute("aria-expanded", open);
  $("chosen").hidden = !open;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && nChosen) choose(() => false);
});
