"use strict";
// The tables, the curve of the run, the theme, downloads and printing.
const STEP = 200;

// ---- the table of edges ----

const columns = [
  ["from", (e) => report.names[e[U]]],
  ["", arrowOf],
  ["to", (e) => report.names[e[V]]],
  ...(hasWeight ? [[report.weightLabel, (e) => e[WEIGHT]]] : []),
  ...(hasConfidence ? [["confidence", (e) => e[CONFIDENCE]]] : []),
  ...(report.edges.some((e) => e[DIRECTION] !== null) ? [["direction", (e) => e[DIRECTION]]] : []),
  ...(report.edges.some((e) => e[P] !== null) ? [["p-value", (e) => e[P]]] : []),
  ...(compares ? [["reference", (e) => meaningOf.get(e[VERDICT])]] : []),
  ...(report.edges.some((e) => e[LAGS]) ? [["lags", (e) => e[LAGS]]] : []),
];
const isNumber = columns.map(([, read]) => report.edges.some((e) => typeof read(e) === "number"));
let order = report.edges.map((_, k) => k), sorting = { column: -1, down: false }, most = STEP;

function compare(a, b) {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function sortBy(column, down) {
  sorting = { column, down };
  const read = columns[column][1];
  const signed = isNumber[column] ? (k) => { const x = read(report.edges[k]); return typeof x === "number" ? Math.abs(x) : x; } : (k) => read(report.edges[k]);
  order.sort((a, b) => (down ? -1 : 1) * compare(signed(a), signed(b)) || a - b);
  fillEdges();
}

function chooseRows() {
  const wanted = find("filter").value.trim().toLowerCase();
  if (!wanted) return order;
  const hits = report.names.map((name) => name.toLowerCase().includes(wanted));
  return order.filter((k) => hits[report.edges[k][U]] || hits[report.edges[k][V]]);
}

function fillEdges() {
  const head = make("tr"), body = find("edges").tBodies[0], rows = chooseRows();
  columns.forEach(([name], c) => {
    const cell = make("th", undefined, isNumber[c] ? "number" : "");
    if (name) {
      const mark = sorting.column !== c ? "" : sorting.down ? " ▼" : " ▲";
      const button = make("button", name + mark);
      button.type = "button";
      button.addEventListener("click", () => sortBy(c, sorting.column === c ? !sorting.down : isNumber[c]));
      if (mark) cell.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      cell.append(button);
    }
    head.append(cell);
  });
  find("edges").tHead.replaceChildren(head);
  body.replaceChildren(...rows.slice(0, most).map((k) => {
    const edge = report.edges[k], line = make("tr", undefined, edge[CHOSEN] || edge[VERDICT] ? "" : "weak");
    columns.forEach(([, read], c) => line.append(make("td", read(edge) ?? "", isNumber[c] ? "number" : "")));
    makeChoice(line, () => pickEdge(k));
    return line;
  }));
  find("more").hidden = rows.length <= most;
  const shown = Math.min(most, rows.length).toLocaleString("en");
  find("rows-shown").textContent = `${shown} of ${report.edges.length.toLocaleString("en")} edges`;
}

function pickEdge(k) {
  let line = cy.getElementById("e" + k);
  if (line.empty() || view === "communities") { drawNeighbourhood(report.edges[k][U]); line = cy.getElementById("e" + k); }
  find("graph-section").scrollIntoView();
  pick(line);
  if (line.nonempty()) cy.animate({ fit: { eles: line.connectedNodes(), padding: 160 }, duration: 250 });
}

function save(blob, name) {
  const link = make("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function makeCsv() {
  const quote = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const names = columns.map(([name]) => name || "mark");
  const rows = chooseRows().map((k) => columns.map(([, read]) => String(read(report.edges[k]) ?? "")));
  return [names, ...rows].map((row) => row.map(quote).join(",")).join("\n") + "\n";
}

find("filter").addEventListener("input", () => { most = STEP; fillEdges(); });
find("more").addEventListener("click", () => { most += 5 * STEP; fillEdges(); });
find("download").addEventListener("click", () => save(new Blob([makeCsv()], { type: "text/csv;charset=utf-8" }), "edges.csv"));
find("picture").addEventListener("click", async () => {
  save(await cy.png({ output: "blob-promise", full: true, scale: 2, bg: colour("--page"), maxWidth: 6000, maxHeight: 6000 }), "graph.png");
});
if (hasConfidence) sortBy(columns.findIndex(([name]) => name === "confidence"), true);
else if (hasWeight) sortBy(3, true);
else fillEdges();

// ---- the variables ----

if (report.variables) {
  const all = report.variables, shown = all.rows.slice(0, 1000);
  fillTable(find("variables"), all.columns, shown);
  [...find("variables").tBodies[0].rows].forEach((line, v) => {
    line.style.cursor = "pointer";
    makeChoice(line, () => { find("graph-section").scrollIntoView(); goTo(v); });
  });
  if (shown.length < all.n_rows)
    find("variables-shown").textContent = `The first ${shown.length.toLocaleString("en")} of ${all.n_rows.toLocaleString("en")} variables.`;
}

// ---- the run ----

function drawCurve(index) {
  const space = "http://www.w3.org/2000/svg", width = 900, height = 280, left = 90, right = 20, top = 14, bottom = 40;
  const put = (tag, marks, text) => {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(marks)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    svg.append(element);
  };
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  const curve = report.history.curves[index];
  svg.setAttribute("aria-label", `${curve.label} against ${report.history.label}`);
  const points = report.history.x.map((x, k) => [x, curve.y[k]]).filter(([x, y]) => typeof x === "number" && typeof y === "number");
  const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
  const span = (values) => { const low = Math.min(...values), high = Math.max(...values); return high > low ? [low, high] : [low - 0.5, high + 0.5]; };
  const [x0, x1] = span(xs), [y0, y1] = span(ys);
  const atX = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const atY = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - top - bottom);
  const write = (value) => Number(value.toPrecision(5)).toLocaleString("en", { maximumSignificantDigits: 5 });
  for (let k = 0; k <= 4; k++) {
    const y = y0 + ((y1 - y0) * k) / 4, x = x0 + ((x1 - x0) * k) / 4;
    put("line", { x1: left, x2: width - right, y1: atY(y), y2: atY(y), class: "axis" });
    put("text", { x: left - 8, y: atY(y) + 4, "text-anchor": "end" }, write(y));
    put("text", { x: atX(x), y: height - bottom + 18, "text-anchor": "middle" }, write(x));
  }
  put("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, report.history.label);
  put("polyline", { class: "curve", points: points.map(([x, y]) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join(" ") });
  find("history").replaceChildren(svg);
}

if (report.history) {
  report.history.curves.forEach((curve, k) => find("curve").append(Object.assign(make("option", curve.label), { value: k })));
  find("curve").addEventListener("change", (event) => drawCurve(Number(event.target.value)));
  drawCurve(0);
}

// ---- answers ----

const answerPanel = report.answers && makePanel(report.answers);

// ---- theme, legend, print ----

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  find("theme").textContent = theme === "dark" ? "Light" : "Dark";
  cy.style(makeStyle());
  bendAgain();
}

function addLegend(name, text) {
  const item = make("span");
  item.append(make("i", undefined, name), text);
  find("legend").append(item);
}

for (const [verdict, meaning, count] of report.verdicts) addLegend(verdict, `${meaning}: ${count.toLocaleString("en")}`);
if (!compares && hasWeight && report.edges.some((edge) => edge[WEIGHT] < 0)) { addLegend("plus", "positive"); addLegend("minus", "negative"); }
if (new Set(report.kinds).size === 2) { addLegend("box", "discrete"); addLegend("round", "continuous"); }
if (hasConfidence || hasWeight) addLegend(hasWeight && !compares ? "plus" : "edge", `wider: larger ${hasConfidence ? "confidence" : report.weightLabel}`);

let before = null;
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
find("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
find("print").addEventListener("click", () => print());
addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; setTheme("light"); });
addEventListener("afterprint", () => before && setTheme(before));
document.body.dataset.ready = "yes";
