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
  makeTables(observed, set, extra) {
    const cut = new Set([...set.keys()].map((v) => this.places[v]));
    const tables = this.bases.map((base, c) => (cut.has(c) ? this.makeBase(c, set) : base.slice()));
    for (const [v, state] of [...observed, ...set]) {
      const chosen = new Float64Array(this.cards[v]);
      chosen[state] = 1;
      this.multiply(this.homes[v], tables[this.homes[v]], [v], chosen);
    }
    return { tables, offset: this.multiplyLogs(tables, extra) };
  }

  /** Multiply by factors { place, scope, logs }, scaled in each clique; return the logarithm of the scale. */
  multiplyLogs(tables, extra) {
    let offset = 0;
    for (const c of new Set(extra.map((factor) => factor.place))) {
      const table = tables[c], logs = new Float64Array(table.length);
      for (const { place, scope, logs: own } of extra) if (place === c)
        this.walk(c, scope, (i, count, j, step) => { for (let k = 0; k < count; k++, j += step) logs[i + k] += own[j]; });
      let top = -Infinity;
      for (let i = 0; i < table.length; i++) if (table[i] > 0 && logs[i] > top) top = logs[i];
      if (top > -Infinity) offset += top; else top = 0;
      for (let i = 0; i < table.length; i++) table[i] *= Math.exp(logs[i] - top) || 0;
    }
    return offset;
  }

  /** One message per clique to its parent, scaled to the sum 1; tables get those of their children. */
  collect({ tables, offset }, reduce) {
    let logTotal = offset;
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
  propagate(observed, set, extra = []) {
    const made = this.makeTables(observed, set, extra), tables = made.tables;
    const { logTotal, messages } = this.collect(made, (a, b) => a + b);
    if (logTotal === -Infinity) return { logTotal, marginals: null, tables: null };
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
    return { logTotal, marginals, tables };
  }

  /** The most probable configuration, and the logarithm of its unnormalised probability. */
  maximise(observed, set, extra = []) {
    const made = this.makeTables(observed, set, extra), tables = made.tables;
    const { logTotal } = this.collect(made, Math.max);
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
  logValue(states, set, extra = []) {
    const placeOf = (scope) => scope.reduce((place, v) => place * this.cards[v] + states[v], 0);
    let sum = extra.reduce((total, { scope, logs }) => total + logs[placeOf(scope)], 0);
    this.scopes.forEach((scope, f) => {
      if (set.has(scope[0]) && f === scope[0]) return;
      sum += Math.log(this.factors[f][placeOf(scope)]);
    });
    return sum;
  }

  /** Mutual information in bits of each variable with the target, given what is observed. */
  information(target, observed, set, marginals, extra = []) {
    const bits = new Float64Array(this.cards.length);
    marginals[target].forEach((share, state) => {
      if (!(share > 0)) return;
      const given = this.propagate(new Map([...observed, [target, state]]), set, extra).marginals;
      if (!given) return;
      given.forEach((distribution, v) => distribution.forEach((p, x) => {
        if (p > 0) bits[v] += share * p * Math.log2(p / marginals[v][x]);
      }));
    });
    return bits.map((value) => Math.max(value, 0));
  }
}
