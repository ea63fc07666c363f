"use strict";
// The first picture of a large graph: communities as discs, their variables as dots, edges between two discs as a bundle.
// A click on a disc draws its variables with their names.

function drawCommunities() {
  const discs = overview.discs.map(([x, y, radius, caption], k) => ({
    group: "nodes", classes: "disc", position: { x, y }, data: { id: "c" + k, disc: k, label: caption.join("\n"), w: 2 * radius } }));
  const dots = start.nodes.map(([v], place) => {
    const [x, y] = overview.dots[place], node = makeNode(v, x, y);
    node.classes += " dot";
    return node;
  });
  draw("communities", [...discs, ...dots], start.edges);
  bundleEdges();
  find("layout").value = "communities";
  applyLevel();
  fitView();
  pick(null);
}

/** Bend edges between two discs so that they leave and enter near the line between the centres. */
function bundleEdges() {
  const discOf = new Map(start.nodes.map(([v], place) => ["n" + v, overview.dots[place][2]]));
  cy.batch(() => cy.edges().forEach((line) => {
    const a = discOf.get(line.data("source")), b = discOf.get(line.data("target"));
    const s = line.source().position(), t = line.target().position();
    // an edge that ends next to the border of a dot cannot begin there
    const open = (point, [x, y]) => { if (Math.hypot(point.x - x, point.y - y) < 12) line.style({ "source-endpoint": "inside-to-node", "target-endpoint": "inside-to-node" }); };
    if (a === b) { open(s, [t.x, t.y]); return; }
    const [x0, y0, r0] = overview.discs[a], [x1, y1, r1] = overview.discs[b];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1, dx = (x1 - x0) / length, dy = (y1 - y0) / length;
    const bends = [[x0 + 0.92 * r0 * dx, y0 + 0.92 * r0 * dy], [x1 - 0.92 * r1 * dx, y1 - 0.92 * r1 * dy]];
    bendEdge(line, bends, "unbundled-bezier", "control-point");
    open(s, bends[0]);
    open(t, bends[1]);
  }));
}

function drawCommunity(disc) {
  const members = new Set(start.nodes.flatMap(([v], place) => (overview.dots[place][2] === disc ? [v] : [])));
  drawPart(members);
  const [, , , caption] = overview.discs[disc];
  find("shown").textContent = `${caption.join(", ")}; "Communities" draws the first picture.`;
  pick(null);
}

/** A list of the communities: the keyboard opens them too. */
function listCommunities() {
  const list = make("ul");
  overview.discs.forEach(([, , , caption], disc) => {
    const item = make("li"), button = make("button", caption.join(", "), "name");
    button.type = "button";
    button.addEventListener("click", () => drawCommunity(disc));
    item.append(button);
    list.append(item);
  });
  return [make("h3", "Communities"), list, make("p", "Click a disc, or a name in this list, to see its variables. Click a dot for details.", "hint")];
}
