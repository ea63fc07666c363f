"use strict";
// The graph and the panel next to it. Names are set as text, never as markup.
const report = JSON.parse(document.getElementById("payload").textContent);
const overview = report.drawing.overview; // discs [x, y, radius, caption] and dots [x, y, disc]; null for small graphs
const find = (id) => document.getElementById(id);
const [U, V, ARROW, WEIGHT, CONFIDENCE, DIRECTION, LAGS, CHOSEN, SIGN, P, VERDICT, OTHER] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const MOST_NEIGHBOURS = 150;

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}

const edgesOf = report.names.map(() => []);
report.edges.forEach((edge, k) => {
  edgesOf[edge[U]].push(k);
  if (edge[V] !== edge[U]) edgesOf[edge[V]].push(k);
});
const hasConfidence = report.edges.some((edge) => edge[CONFIDENCE] !== null);
const compares = report.verdicts.length > 0; // with a reference: then colours and dashes of edges are the verdicts
const meaningOf = new Map(report.verdicts.map(([verdict, meaning]) => [verdict, meaning]));
const lagsDiffer = new Set(report.edges.map((edge) => edge[LAGS])).size > 1;
const hasWeight = report.edges.some((edge) => edge[WEIGHT] !== null);
const measure = (edge) => Math.abs(hasConfidence ? edge[CONFIDENCE] ?? 0 : edge[WEIGHT] ?? 0);
const largestWeight = Math.max(1e-12, ...report.edges.slice(0, 100000).map((edge) => Math.abs(edge[WEIGHT] ?? 0)));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const arrowOf = (edge) => edge[SIGN] || (edge[ARROW] ? "→" : "—");

function makeNode(v, x, y) {
  const node = { group: "nodes", data: { id: "n" + v, v, label: report.labels[v] ?? report.names[v], w: report.widths[v] } };
  node.classes = report.kinds[v] === "c" ? "number" : "";
  if (x !== undefined) node.position = { x, y };
  return node;
}

function makeEdge(k) {
  const edge = report.edges[k];
  const size = hasConfidence ? edge[CONFIDENCE] ?? 0 : hasWeight ? Math.abs(edge[WEIGHT] ?? 0) / largestWeight : 0.3;
  const data = { id: "e" + k, k, source: "n" + edge[U], target: "n" + edge[V], size, lags: lagsDiffer ? edge[LAGS] : "" };
  const sign = edge[SIGN];
  const classes = [sign.endsWith(">") || (!sign && edge[ARROW]) ? "arrow" : "", sign.startsWith("<") ? "arrow-back" : "",
    sign.endsWith("o") ? "circle" : "", sign.startsWith("o") ? "circle-back" : "",
    compares ? edge[VERDICT] : edge[WEIGHT] < 0 ? "minus" : "", edge[CHOSEN] || edge[VERDICT] ? "" : "weak"];
  return { group: "edges", data, classes: classes.filter(Boolean).join(" ") };
}

function bendEdge(line, route, style, name) {
  const s = line.source().position(), t = line.target().position();
  const dx = t.x - s.x, dy = t.y - s.y, length = Math.hypot(dx, dy) || 1;
  const weights = route.map(([x, y]) => ((x - s.x) * dx + (y - s.y) * dy) / length ** 2);
  const distances = route.map(([x, y]) => ((y - s.y) * dx - (x - s.x) * dy) / length);
  line.style({ "curve-style": style, "edge-distances": "node-position", [`${name}-weights`]: weights, [`${name}-distances`]: distances });
}

function bendEdges() {
  for (const [k, route] of Object.entries(report.drawing.bends)) {
    const line = cy.getElementById("e" + k);
    if (line.empty()) continue;
    bendEdge(line, route, "round-segments", "segment");
    line.style("segment-radii", 24);
  }
}

function makeStyle() {
  const font = "system-ui, Segoe UI, Helvetica Neue, Arial, sans-serif";
  return [
    { selector: "node", style: {
      shape: "round-rectangle", width: "data(w)", height: 24, label: "data(label)", "font-size": 11, "font-family": font,
      color: colour("--ink"), "text-valign": "center", "text-halign": "center", "background-color": colour("--face"),
      "border-width": 1, "border-color": colour("--rim"), "min-zoomed-font-size": 6 } },
    { selector: "node.number", style: {
      "corner-radius": 12, "background-color": colour("--number-face"), "border-color": colour("--number-rim") } },
    { selector: "edge", style: {
      width: (line) => 0.8 + (hasConfidence ? 1.8 : 3.2) * Math.min(1, line.data("size")), "line-color": colour(hasWeight && !compares ? "--plus" : "--edge"),
      "target-arrow-color": colour(hasWeight && !compares ? "--plus" : "--edge"), "curve-style": "bezier", opacity: 0.85,
      "arrow-scale": 0.9, label: "data(lags)", "font-size": 9, color: colour("--soft"), "font-family": font,
      "text-background-color": colour("--page"), "text-background-opacity": 0.9, "text-background-padding": 1,
      "min-zoomed-font-size": 7 } },
    { selector: "edge:loop", style: { "loop-direction": "45deg", "loop-sweep": "50deg", "control-point-step-size": 32 } },
    { selector: "edge.arrow", style: { "target-arrow-shape": "triangle" } },
    { selector: "edge.arrow-back", style: { "source-arrow-shape": "triangle", "source-arrow-color": colour("--edge") } },
    { selector: "edge.circle", style: { "target-arrow-shape": "circle", "target-arrow-fill": "hollow" } },
    { selector: "edge.circle-back", style: {
      "source-arrow-shape": "circle", "source-arrow-fill": "hollow", "source-arrow-color": colour("--edge") } },
    { selector: "edge.minus", style: {
      "line-color": colour("--minus"), "target-arrow-color": colour("--minus"), "line-style": "dashed" } },
    // with a reference: dashes and a mark in the middle work without colours
    ...[["turned", "--turned"], ["extra", "--extra"], ["missing", "--missing"]].map(([verdict, name]) => ({
      selector: `edge.${verdict}`, style: {
        "line-color": colour(name), "target-arrow-color": colour(name), "source-arrow-color": colour(name),
        "mid-target-arrow-color": colour(name), opacity: 1 } })),
    { selector: "edge.turned", style: { "mid-target-arrow-shape": "diamond" } },
    { selector: "edge.extra", style: { "line-style": "dashed", "line-dash-pattern": [9, 3, 2, 3] } },
    { selector: "edge.missing", style: { "line-style": "dashed", "line-dash-pattern": [4, 4] } },
    { selector: "edge.weak", style: { "line-style": "dotted", opacity: 0.6 } },
    { selector: "edge.thin", style: { "z-index-compare": "manual", "z-index": 1, width: 0.8, "arrow-scale": 0.4, opacity: 0.5, label: "" } },
    { selector: ".disc", style: {
      shape: "ellipse", height: "data(w)", "background-color": colour("--panel"), "border-color": colour("--line"), "z-index-compare": "manual", "z-index": 0,
      "font-size": overview ? overview.font : 11, "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "wrap", "text-max-width": 400, "line-height": 1.2,
      "text-background-color": colour("--page"), "text-background-opacity": 0.75 } },
    { selector: ".dot", style: { "z-index-compare": "manual", "z-index": 2, shape: "ellipse", width: 6.4, height: 6.4, label: "", "border-width": 0.6, "background-color": colour("--rim") } },
    { selector: ".dot.number", style: { "background-color": colour("--number-rim") } },
    { selector: ".faint", style: { opacity: 0.13 } },
    { selector: ".hidden", style: { display: "none" } },
    { selector: ".picked", style: {
      "border-width": 3, "border-color": colour("--pick"), "z-index": 9 } },
    { selector: "edge.picked", style: { "line-color": colour("--pick"), "target-arrow-color": colour("--pick"), "source-arrow-color": colour("--pick") } },
  ];
}

const start = report.drawing;
const large = start.nodes.length > 700;
const cy = cytoscape({
  container: find("cy"), style: makeStyle(), layout: { name: "preset" }, minZoom: 0.01, maxZoom: 6,
  textureOnViewport: large, hideEdgesOnViewport: large, pixelRatio: large ? 1 : "auto", boxSelectionEnabled: false,
});
let picked = null, level = 0, view = ""; // "whole", "communities", or "part" of the graph

function draw(what, nodes, edges) {
  view = what;
  cy.batch(() => {
    cy.elements().remove();
    cy.add(nodes);
    cy.add([...edges].map(makeEdge));
  });
  if (what === "communities") cy.edges().addClass("thin");
}

function drawWhole() {
  draw("whole", start.nodes.map(([v, x, y]) => makeNode(v, x, y)), start.edges);
  cy.batch(bendEdges);
  find("layout").value = "preset";
  applyLevel();
  fitView();
}

function drawFirst() { if (overview) drawCommunities(); else drawWhole(); }

/** Bends are lost when the style or the layout changes. */
function bendAgain() {
  if (view === "communities") bundleEdges();
  else if (view === "whole" && find("layout").value === "preset") bendEdges();
}

function fitView() {
  cy.resize();
  cy.fit(cy.elements().not(".hidden"), 24);
  if (cy.zoom() > 1.6) { cy.zoom(1.6); cy.center(); }
}

function listNeighbours(v) {
  const near = edgesOf[v].filter((k) => !sliderUsed() || isStrong(report.edges[k]));
  return near.sort((a, b) => measure(report.edges[b]) - measure(report.edges[a]));
}

function drawNeighbourhood(v) {
  const near = listNeighbours(v);
  const members = new Set([v]);
  for (const k of near) if (members.size <= MOST_NEIGHBOURS) members.add(report.edges[k][U]).add(report.edges[k][V]);
  drawPart(members);
  const cut = near.length > MOST_NEIGHBOURS ? ` (the ${MOST_NEIGHBOURS} strongest)` : "";
  find("shown").textContent = `The neighbourhood of ${report.names[v]}${cut}; "${find("fit").textContent}" draws the rest.`;
  pick(cy.getElementById("n" + v));
}

/** Draw some variables and the edges between them. */
function drawPart(members) {
  const lines = new Set();
  for (const u of members) for (const k of edgesOf[u])
    if (members.has(report.edges[k][U]) && members.has(report.edges[k][V])) lines.add(k);
  draw("part", [...members].map((u) => makeNode(u)), lines);
  applyLevel();
  arrange(report.edges.some((edge) => edge[ARROW]) ? "dagre" : "cose");
  find("layout").value = "";
}

function arrange(name) {
  if (name === "preset") { drawWhole(); return; }
  if (name === "communities") { drawCommunities(); return; }
  if (view === "communities") drawWhole();
  cy.edges().removeStyle();
  const options = {
    dagre: { rankSep: 46, nodeSep: 16, edgeSep: 8, nodeDimensionsIncludeLabels: false },
    cose: { nodeRepulsion: () => 60000, idealEdgeLength: () => 70, numIter: Math.max(40, Math.min(800, Math.round(40000 / cy.nodes().length))), nodeOverlap: 12 },
    circle: { spacingFactor: 0.9 },
  };
  cy.elements().not(".hidden").layout({ name, animate: false, fit: false, ...options[name] }).run();
  fitView();
}

// ---- the slider ----

// numbers are rounded to five digits
function isStrong(edge) { return edge[VERDICT] === "missing" || measure(edge) >= level * (1 - 1e-4); }
function sliderUsed() { return !find("slider-box").hidden; }

function setSlider() {
  const sizes = report.edges.map(measure);
  if (!sizes.length || !(hasConfidence || hasWeight)) return;
  const top = hasConfidence ? 1 : largestWeight;
  if (!hasConfidence && new Set(sizes).size < 2) return;
  const slider = find("slider");
  find("slider-box").hidden = false;
  find("slider-label").textContent = hasConfidence ? "Confidence at least" : `${report.weightLabel} at least`;
  Object.assign(slider, { min: 0, max: top, step: top / 200 });
  // a readable start: at most about two edges per node
  const drawn = start.edges.map((k) => measure(report.edges[k])).sort((a, b) => b - a);
  const most = 2 * start.nodes.length + 20;
  level = hasConfidence ? report.threshold ?? 0 : !compares && drawn.length > most ? Math.floor(drawn[most] / top * 200) / 200 * top : 0;
  slider.value = level;
  slider.addEventListener("input", () => { level = Number(slider.value); applyLevel(); });
}

function applyLevel() {
  find("slider-value").textContent = hasConfidence ? `${Math.round(100 * level)} %` : Number(level.toPrecision(3));
  const used = sliderUsed();
  let shown = 0;
  cy.batch(() => cy.edges().forEach((line) => {
    const visible = !used || isStrong(report.edges[line.data("k")]);
    line.toggleClass("hidden", !visible);
    shown += visible && !line.hasClass("missing");
  }));
  if (view === "part") return;
  const isOurs = (edge) => edge[VERDICT] !== "missing", ours = report.edges.filter(isOurs).length;
  const total = ours.toLocaleString("en"), nodes = start.nodes.length.toLocaleString("en");
  const part = start.nodes.length < report.names.length ? ` of ${report.names.length.toLocaleString("en")}` : "";
  const hint = used && shown < start.edges.filter((k) => isOurs(report.edges[k])).length ? "; the slider shows weaker edges" : "";
  find("shown").textContent = `${nodes}${part} variables, ${shown.toLocaleString("en")} of ${total} edges${view === "communities" ? ` in ${overview.discs.length} communities` : ""}${hint}.`;
}

// ---- details ----

function pick(element) {
  cy.elements().removeClass("picked faint");
  picked = element && element.nonempty() ? element : null;
  find("near").disabled = !(picked && picked.isNode());
  if (!picked) {
    const hint = make("p", "Click a variable or an edge for details.", "hint");
    find("details").replaceChildren(...(view === "communities" ? listCommunities() : [hint]));
    return;
  }
  const lines = picked.isNode() ? picked.connectedEdges().not(".hidden") : picked;
  const near = picked.union(lines).union(lines.connectedNodes());
  cy.elements().not(near).not(".disc").addClass("faint");
  picked.addClass("picked");
  if (picked.isNode()) showVariable(picked.data("v")); else showEdge(picked.data("k"));
}

/** A row of a table that the mouse and the keyboard choose. */
function makeChoice(line, choose) {
  line.tabIndex = 0;
  line.addEventListener("click", choose);
  line.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(); });
}

function nameButton(v) {
  const button = make("button", report.names[v], "name");
  button.type = "button";
  button.addEventListener("click", () => goTo(v));
  return button;
}

function makeTables(tables) {
  return (tables || []).flatMap((table) => {
    const box = make("div", undefined, "scroll");
    box.append(fillTable(make("table"), table.columns, table.rows));
    const parts = [make("h3", table.caption), box];
    if (table.rows.length < table.n_rows)
      parts.push(make("p", `The first ${table.rows.length} of ${table.n_rows.toLocaleString("en")} rows.`, "hint"));
    return parts;
  });
}

function fillTable(table, columns, rows) {
  const head = make("tr"), body = make("tbody"), top = make("thead");
  const numeric = columns.map((_, c) => rows.length > 0 && rows.every((row) => row[c] === null || typeof row[c] === "number"));
  columns.forEach((name, c) => head.append(make("th", name, numeric[c] ? "number" : "")));
  for (const row of rows) {
    const line = make("tr");
    row.forEach((cell, c) => line.append(make("td", cell === null ? "" : String(cell), numeric[c] ? "number" : "")));
    body.append(line);
  }
  top.append(head);
  table.replaceChildren(top, body);
  return table;
}

function describeEdge(edge) {
  const parts = [];
  if (edge[WEIGHT] !== null) parts.push(`${report.weightLabel} ${edge[WEIGHT]}`);
  if (edge[CONFIDENCE] !== null) parts.push(`in ${(100 * edge[CONFIDENCE]).toFixed(0)} % of the resamples`);
  if (edge[DIRECTION] !== null) parts.push(`${(100 * edge[DIRECTION]).toFixed(0)} % of these in this direction`);
  if (edge[LAGS]) parts.push(`lag ${edge[LAGS]}`);
  if (edge[P] !== null) parts.push(`p-value ${edge[P]}`);
  if (edge[VERDICT] && edge[VERDICT] !== "missing") parts.push(edge[OTHER] ? `${edge[OTHER]} in the reference` : meaningOf.get(edge[VERDICT]));
  return parts.join(", ");
}

function showVariable(v) {
  const groups = { Parents: [], Children: [], Neighbours: [], "Its own past": [], "Only in the reference": [] };
  for (const k of listNeighbours(v)) {
    const edge = report.edges[k];
    const key = edge[VERDICT] === "missing" ? "Only in the reference" : edge[U] === edge[V] ? "Its own past" : (edge[SIGN] && edge[SIGN] !== "-->") || !edge[ARROW] ? "Neighbours" : edge[V] === v ? "Parents" : "Children";
    const isShown = key === "Only in the reference" || (edge[SIGN] && key === "Neighbours");
    const sign = isShown ? [`${report.names[edge[U]]} ${arrowOf(edge)} ${report.names[edge[V]]}`] : [];
    groups[key].push([edge[U] === v ? edge[V] : edge[U], [...sign, describeEdge(edge)].filter(Boolean).join(", ")]);
  }
  const parts = [make("h3", report.names[v])];
  for (const [key, members] of Object.entries(groups)) {
    if (!members.length) continue;
    parts.push(make("h3", `${key} (${members.length})`));
    const list = make("ul");
    for (const [u, text] of members.slice(0, 200)) {
      const item = make("li");
      item.append(nameButton(u), make("span", text ? `: ${text}` : "", "hint"));
      list.append(item);
    }
    parts.push(list);
  }
  if (parts.length === 1) parts.push(make("p", "No edges.", "hint"));
  find("details").replaceChildren(...parts, ...makeTables(report.ofVariable[v]));
}

function showEdge(k) {
  const edge = report.edges[k];
  const title = make("h3");
  title.append(nameButton(edge[U]), ` ${arrowOf(edge)} `, nameButton(edge[V]));
  const weak = edge[CHOSEN] || edge[VERDICT] ? [] : [make("p", "Weaker than the threshold: not in the learned graph.", "hint")];
  const missing = edge[VERDICT] === "missing" ? [make("p", "Only in the reference.", "hint")] : [];
  find("details").replaceChildren(title, make("p", describeEdge(edge)), ...missing, ...weak, ...makeTables(report.ofEdge[k]));
}

function goTo(v) {
  if (view === "communities") { drawNeighbourhood(v); return; }
  let node = cy.getElementById("n" + v);
  if (node.empty()) {
    if (overview) { drawNeighbourhood(v); return; }
    if (view !== "whole") drawWhole();
    node = cy.getElementById("n" + v);
    if (node.empty()) { drawNeighbourhood(v); return; }
  }
  pick(node);
  cy.animate({ center: { eles: node }, zoom: Math.max(cy.zoom(), 0.8), duration: 250 });
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) { pick(null); return; }
  const names = report.names.map((name) => name.toLowerCase());
  let v = report.names.indexOf(text.trim());
  if (v < 0) v = names.indexOf(wanted);
  if (v < 0) v = names.findIndex((name) => name.startsWith(wanted));
  if (v < 0) v = names.findIndex((name) => name.includes(wanted));
  if (v < 0) { find("shown").textContent = `No variable is called ${text.trim()}.`; return; }
  goTo(v);
}

function showTip(event) {
  const edge = report.edges[event.target.data("k")], tip = find("tip"), box = find("cy").getBoundingClientRect();
  tip.textContent = event.target.isNode() ? report.names[event.target.data("v")] : [`${report.names[edge[U]]} ${arrowOf(edge)} ${report.names[edge[V]]}`, describeEdge(edge)].filter(Boolean).join(": ");
  tip.hidden = false;
  const x = Math.min(event.renderedPosition.x + 14, box.width - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(0, x)}px`;
  tip.style.top = `${event.renderedPosition.y + 14}px`;
}

cy.on("mouseover", "edge", showTip);
cy.on("mouseout", "edge", () => { find("tip").hidden = true; });
cy.on("mouseover", ".dot", showTip);
cy.on("mouseout", ".dot", () => { find("tip").hidden = true; });
cy.on("tap", (event) => {
  if (event.target !== cy && event.target.hasClass("disc")) drawCommunity(event.target.data("disc"));
  else pick(event.target === cy ? null : event.target);
});
find("cy").addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }, factors = { "+": 1.25, "-": 0.8 };
  const [x, y] = steps[event.key] || [0, 0], factor = factors[event.key];
  if (event.key in steps) cy.panBy({ x, y });
  else if (factor) cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  else return;
  event.preventDefault();
});
find("search").addEventListener("change", (event) => search(event.target.value));
find("search").addEventListener("keydown", (event) => { if (event.key === "Enter") search(event.target.value); });
find("near").addEventListener("click", () => picked && picked.isNode() && drawNeighbourhood(picked.data("v")));
find("fit").addEventListener("click", () => { pick(null); drawFirst(); });
find("layout").addEventListener("change", (event) => arrange(event.target.value));
find("names").append(...report.names.slice(0, 3000).map((name) => Object.assign(make("option"), { value: name })));
find("fit").textContent = overview ? "Communities" : "Whole graph";
if (!overview) find("layout").querySelector("[value=communities]").remove();
setSlider();
drawFirst();
