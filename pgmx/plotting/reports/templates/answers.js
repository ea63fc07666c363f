"use strict";
// Exact answers of a discrete network: sums and maxima over the cliques of a junction tree that pgmx has chosen.
// A clique table has the last variable fastest; the variables that it shares with its parent come first.

function decodeDoubles(values) {
  const text = atob(values), bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  const view = new DataView(bytes.buffer), all = new Float64Array(bytes.length / 8);
  for (let k = 0; k < all.length; k++) all[k] = view.getFloat64(8 * k, true);
  return all;
}

class JunctionTree {
  constructor(network) {
    this.cards = network.states.map((states) => states.length);
    this.cliques = network.cliques;
    this.parents = network.parents;
    this.homes = network.homes;
    this.scopes = network.scopes;
    this.places = network.places;
    const all = decodeDoubles(network.values);
    let first = 0;
    this.factors = this.scopes.map((scope) => {
      const size = scope.reduce((product, v) => product * this.cards[v], 1);
      return all.subarray(first, (first += size));
    });
    this.shapes = this.cliques.map((clique) => clique.map((v) => this.cards[v]));
    this.shared = this.cliques.map((clique, c) => {
      const above = this.parents[c] < 0 ? [] : this.cliques[this.parents[c]];
      return clique.filter((v) => above.includes(v));
    });
    this.bases = this.cliques.map((_, c) => this.makeBase(c, new Map()));
    const start = this.propagate(new Map(), new Map());
    this.logTotal = network.isDirected ? 0 : start.logTotal;
  }

  /** Strides of the axes of clique c in a table over `scope`; 0 for variables that it does not have. */
  stridesIn(c, scope) {
    const of = new Map();
    for (let k = scope.length - 1, stride = 1; k >= 0; k--) { of.set(scope[k], stride); stride *= this.cards[scope[k]]; }
    return this.cliques[c].map((v) => of.get(v) ?? 0);
  }

  /** Call visit(first, count, place, step) for each run of the last axis. */
  walk(c, scope, visit) {
    const shape = this.shapes[c], strides = this.stridesIn(c, scope), last = shape.length - 1;
    const at = new Int32Array(shape.length), count = shape[last], step = strides[last];
    const size = shape.reduce((product, card) => product * card, 1);
    for (let i = 0, j = 0; i < size; i += count) {
      visit(i, count, j, step);
      for (let a = last - 1; a >= 0; a--) {
        j += strides[a];
        if (++at[a] < shape[a]) break;
        j -= strides[a] * shape[a];
        at[a] = 0;
      }
    }
  }

  multiply(c, table, scope, other) {
    this.walk(c, scope, (i, count, j, step) => { for (let k = 0; k < count; k++, j += step) table[i + k] *= other[j]; });
  }

  /** The sum of a clique table over all variables but those of `scope`. */
  project(c, table, scope) {
    const out = new Float64Array(scope.reduce((product, v) => product * this.cards[v], 1));
    this.walk(c, scope, (i, count, j, step) => { for (let k = 0; k < count; k++, j += step) out[j] += table[i + k]; });
    return out;
  }

  /** The product of the factors of a clique, without those of variables that are set. */
  makeBase(c, set) {
    const table = new Float64Array(this.shapes[c].reduce((product, card) => product * card, 1)).fill(1);
    this.scopes.forEach((scope, f) => {
      if (this.places[f] === c && !(set.has(scope[0]) && f === scope[0])) this.multiply(c, table, scope, this.factors[f]);
    });
    return table;
  }

  /** Clique tables in which the observed and the set variables have their states. In Bayesian networks factor v is that of v. */
  makeTables(observed, set) {
    const cut = new Set([...set.keys()].map((v) => this.places[v]));
    const tables = this.bases.map((base, c) => (cut.has(c) ? this.makeBase(c, set) : base.slice()));
    for (const [v, state] of [...observed, ...set]) {
      const chosen = new Float64Array(this.cards[v]);
      chosen[state] = 1;
      this.multiply(this.homes[v], tables[this.homes[v]], [v], chosen);
    }
    return tables;
  }

  /** One message per clique to its parent, scaled to the sum 1; tables get those of their children. */
  collect(tables, reduce) {
    let logTotal = 0;
    const messages = [];
    for (let c = this.cliques.length - 1; c >= 0; c--) {
      const size = this.shared[c].reduce((product, v) => product * this.cards[v], 1), rest = tables[c].length / size;
      const message = new Float64Array(size);
      let total = 0;
      for (let s = 0, i = 0; s < size; s++) {
        let value = 0;
        for (let k = 0; k < rest; k++, i++) value = reduce(value, tables[c][i]);
        message[s] = value;
        total += value;
      }
      if (!(total > 0)) return { logTotal: -Infinity, messages };
      logTotal += Math.log(total);
      for (let s = 0; s < size; s++) message[s] /= total;
      messages[c] = message;
      if (this.parents[c] >= 0) this.multiply(this.parents[c], tables[this.parents[c]], this.shared[c], message);
    }
    return { logTotal, messages };
  }

  /** The logarithm of the sum over all configurations, and the distribution of each variable (none if the sum is 0). */
  propagate(observed, set) {
    const tables = this.makeTables(observed, set);
    const { logTotal, messages } = this.collect(tables, (a, b) => a + b);
    if (logTotal === -Infinity) return { logTotal, marginals: null };
    this.cliques.forEach((_, c) => {
      const p = this.parents[c], table = tables[c];
      let factor = null;
      if (p >= 0) {
        factor = this.project(p, tables[p], this.shared[c]);
        for (let s = 0; s < factor.length; s++) factor[s] = messages[c][s] > 0 ? factor[s] / messages[c][s] : 0;
      }
      const rest = table.length / (factor ? factor.length : 1);
      let sum = 0;
      for (let i = 0; i < table.length; i++) sum += factor ? (table[i] *= factor[(i / rest) | 0]) : table[i];
      for (let i = 0; i < table.length; i++) table[i] /= sum;
    });
    const marginals = this.cards.map((_, v) => this.project(this.homes[v], tables[this.homes[v]], [v]));
    return { logTotal, marginals };
  }

  /** The most probable configuration, and the logarithm of its unnormalised probability. */
  maximise(observed, set) {
    const tables = this.makeTables(observed, set);
    const { logTotal } = this.collect(tables, Math.max);
    if (logTotal === -Infinity) return null;
    const states = new Int32Array(this.cards.length);
    this.cliques.forEach((clique, c) => {
      const shared = this.shared[c], shape = this.shapes[c];
      const s = shared.reduce((place, v) => place * this.cards[v] + states[v], 0);
      const rest = tables[c].length / shared.reduce((product, v) => product * this.cards[v], 1);
      let best = 0;
      for (let k = 1; k < rest; k++) if (tables[c][s * rest + k] > tables[c][s * rest + best]) best = k;
      for (let a = clique.length - 1; a >= shared.length; a--) { states[clique[a]] = best % shape[a]; best = Math.floor(best / shape[a]); }
    });
    return states;
  }

  /** Log of the unnormalised probability of a complete configuration. */
  logValue(states, set) {
    let sum = 0;
    this.scopes.forEach((scope, f) => {
      if (set.has(scope[0]) && f === scope[0]) return;
      sum += Math.log(this.factors[f][scope.reduce((place, v) => place * this.cards[v] + states[v], 0)]);
    });
    return sum;
  }

  /** Mutual information in bits of each variable with the target, given what is observed. */
  information(target, observed, set, marginals) {
    const bits = new Float64Array(this.cards.length);
    marginals[target].forEach((share, state) => {
      if (!(share > 0)) return;
      const given = this.propagate(new Map([...observed, [target, state]]), set).marginals;
      if (!given) return;
      given.forEach((distribution, v) => distribution.forEach((p, x) => {
        if (p > 0) bits[v] += share * p * Math.log2(p / marginals[v][x]);
      }));
    });
    return bits.map((value) => Math.max(value, 0));
  }
}

// ---- the panel ----

const MOST_RANKED = 10;

/** Cards of all variables, what is observed and set, and the way back; the kinds of networks fill it. */
class Panel {
  constructor(network) {
    this.network = network;
    this.observed = new Map();
    this.set = new Map();
    this.past = [];
  }

  begin() {
    this.cards = this.network.names.map((name, v) => {
      const box = make("div", undefined, "card"), title = make("h3");
      title.append(make("span", name), " ", make("em"));
      box.append(title);
      return { box, mark: title.lastChild, parts: this.fillCard(box, v) };
    });
    find("bars").replaceChildren(...this.cards.map((card) => card.box));
    find("undo").addEventListener("click", () => this.undo());
    find("clear").addEventListener("click", () => { this.remember(); this.observed.clear(); this.set.clear(); this.update(); });
    find("bar-filter").addEventListener("input", (event) => this.filter(event.target.value));
    find("do-box").hidden = !this.network.isDirected;
    this.update();
  }

  remember() { this.past.push([new Map(this.observed), new Map(this.set)]); }

  forget(v) { this.observed.delete(v); this.set.delete(v); }

  chosen() { return find("do").checked && this.network.isDirected ? this.set : this.observed; }

  undo() {
    if (!this.past.length) return;
    [this.observed, this.set] = this.past.pop();
    this.update();
  }

  update() {
    this.compute();
    this.cards.forEach(({ box, mark, parts }, v) => {
      mark.textContent = this.observed.has(v) ? "observed" : this.set.has(v) ? "set" : "";
      box.classList.toggle("given", mark.textContent !== "");
      this.show(parts, v);
    });
    find("undo").disabled = !this.past.length;
    find("clear").disabled = !this.observed.size && !this.set.size;
    find("evidence").textContent = this.describe();
  }

  filter(text) {
    const wanted = text.trim().toLowerCase();
    this.cards.forEach(({ box }, v) => { box.hidden = !this.network.names[v].toLowerCase().includes(wanted); });
  }
}

class DiscretePanel extends Panel {
  constructor(network) {
    super(network);
    this.tree = new JunctionTree(network);
    find("target").append(...network.names.map((name, v) => Object.assign(make("option", name), { value: v })));
    find("target").addEventListener("change", () => this.rank());
    this.begin();
  }

  fillCard(box, v) {
    return this.network.states[v].map((state, x) => {
      const button = make("button", undefined, "state"), bar = make("i"), value = make("b");
      button.type = "button";
      button.append(bar, make("span", state), value);
      button.addEventListener("click", () => this.choose(v, x));
      box.append(button);
      return { button, bar, value };
    });
  }

  choose(v, x) {
    this.remember();
    const isHeld = this.observed.get(v) === x || this.set.get(v) === x;
    this.forget(v);
    if (!isHeld) this.chosen().set(v, x);
    this.update();
  }

  compute() {
    const { logTotal, marginals } = this.tree.propagate(this.observed, this.set);
    this.marginals = marginals;
    this.logProbability = logTotal - this.tree.logTotal;
    this.explain();
    this.rank();
  }

  show(rows, v) {
    rows.forEach(({ button, bar, value }, x) => {
      const p = this.marginals ? this.marginals[v][x] : null, share = p === null ? "" : formatShare(p);
      bar.style.width = p === null ? "0" : `${100 * p}%`;
      value.textContent = share;
      button.setAttribute("aria-pressed", String(this.observed.get(v) === x || this.set.get(v) === x));
      button.setAttribute("aria-label", [`${this.network.names[v]}: ${this.network.states[v][x]}`, share].filter(Boolean).join(", "));
    });
  }

  list(chosen) { return [...chosen].map(([v, x]) => `${this.network.names[v]} = ${this.network.states[v][x]}`).join(", "); }

  describe() {
    if (!this.observed.size && !this.set.size) return "Nothing is observed: the bars are the marginal distributions. Click a state.";
    if (!this.observed.size) return `The bars are the distributions given do(${this.list(this.set)}).`;
    const text = `P(${this.list(this.observed)}${this.set.size ? ` | do(${this.list(this.set)})` : ""})`;
    if (this.marginals === null) return `${text} = 0: these states cannot occur together. Take the last click back.`;
    const p = Math.exp(this.logProbability);
    return `${text} = ${p > 1e-300 ? Number(p.toPrecision(6)) : `exp(${this.logProbability.toFixed(3)})`}`;
  }

  explain() {
    const states = this.marginals && this.tree.maximise(this.observed, this.set);
    find("best-box").hidden = !states;
    if (!states) return;
    const free = this.network.names.map((_, v) => v).filter((v) => !this.observed.has(v) && !this.set.has(v));
    const log = this.tree.logValue(states, this.set) - this.tree.logTotal - this.logProbability;
    this.best = states;
    find("best").textContent = this.list(free.map((v) => [v, states[v]]));
    find("best-share").textContent = `probability ${Number(Math.exp(log).toPrecision(4))}`;
  }

  rank() {
    const target = Number(find("target").value), isGiven = (v) => this.observed.has(v) || this.set.has(v);
    const reason = find("target").value === "" ? "Choose a variable." : isGiven(target) ? "Its state is given." : "";
    if (reason || !this.marginals) { find("ranking").replaceChildren(make("li", reason, "hint")); return; }
    const bits = this.tree.information(target, this.observed, this.set, this.marginals);
    const order = [...bits.keys()].filter((v) => v !== target && !isGiven(v)).sort((a, b) => bits[b] - bits[a] || a - b);
    find("ranking").replaceChildren(...order.slice(0, MOST_RANKED).map((v) => make("li", `${this.network.names[v]}: ${bits[v].toFixed(4)} bits`)));
  }
}

function formatShare(p) {
  const share = 100 * p;
  return share === 0 || share === 100 ? `${share} %` : share < 0.1 ? `${share.toExponential(1)} %` : `${share.toFixed(share < 10 ? 2 : 1)} %`;
}
