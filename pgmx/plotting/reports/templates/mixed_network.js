"use strict";
// Exact answers of a network of discrete variables and regressions on continuous ones: unobserved continuous variables are
// integrated out per configuration of the discrete variables on which they depend (Lauritzen and Jensen 2001).

class MixedNetwork {
  constructor(network) {
    this.n = network.names.length;
    this.discrete = network.states.flatMap((states, v) => (states ? [v] : []));
    this.place = new Map(this.discrete.map((v, k) => [v, k])); // numbers in the junction tree
    this.tree = new JunctionTree({ ...network.tree, states: this.discrete.map((v) => network.states[v]) });
    const all = decodeDoubles(network.values);
    let first = 0;
    this.families = network.regressions.map(([v, states, parents]) => {
      const size = states.reduce((product, d) => product * this.tree.cards[d], 1), width = parents.length + 1;
      const coefficients = all.subarray(first, (first += size * width)), stds = all.subarray(first, (first += size));
      return { v, states, parents, coefficients, stds, width };
    });
  }

  /** Groups of families that share unobserved continuous variables: { members, hidden, scope }. */
  findComponents(observed, set) {
    const root = new Map(), find = (v) => { while (root.get(v) !== v) v = root.get(v); return v; };
    const members = this.families.filter(({ v }) => !set.has(v));
    const isGiven = (v) => observed.has(v) || set.has(v);
    const hiddenOf = members.map(({ v, parents }) => [v, ...parents].filter((u) => !isGiven(u)));
    for (const hidden of hiddenOf) for (const u of hidden) {
      if (!root.has(u)) root.set(u, u);
      root.set(find(u), find(hidden[0]));
    }
    const groups = new Map();
    members.forEach((family, f) => {
      const key = hiddenOf[f].length ? find(hiddenOf[f][0]) : -1 - f;
      if (!groups.has(key)) groups.set(key, { members: [], hidden: [], scope: [] });
      const group = groups.get(key);
      group.members.push(family);
      for (const u of hiddenOf[f]) if (!group.hidden.includes(u)) group.hidden.push(u);
      for (const d of family.states) if (!group.scope.includes(d)) group.scope.push(d);
    });
    return [...groups.values()];
  }

  /** Log-evidence, means and variances of the hidden variables in each configuration of the scope that is possible. */
  solve({ members, hidden, scope }, given, states) {
    const cards = scope.map((d) => this.tree.cards[d]), size = cards.reduce((product, card) => product * card, 1);
    const F = members.length, k = hidden.length, width = k + 1;
    const logs = new Float64Array(size).fill(-Infinity), means = new Float64Array(size * k), variances = new Float64Array(size * k);
    const matrix = new Float64Array(F * width), at = new Int32Array(scope.length), column = new Map(hidden.map((u, j) => [u, j]));
    const digits = members.map((family) => family.states.map((d) => scope.indexOf(d)));
    for (let q = 0; q < size; q++) {
      for (let a = scope.length - 1, rest = q; a >= 0; a--) { at[a] = rest % cards[a]; rest = Math.floor(rest / cards[a]); }
      if (scope.some((d, a) => states.has(d) && states.get(d) !== at[a])) continue;
      matrix.fill(0);
      let log = -0.5 * Math.log(2 * Math.PI) * (F - k);
      members.forEach(({ v, parents, coefficients, stds, width: own }, f) => {
        const c = digits[f].reduce((place, a) => place * cards[a] + at[a], 0), std = stds[c];
        let right = coefficients[c * own];
        log -= Math.log(std);
        if (column.has(v)) matrix[f * width + column.get(v)] += 1 / std; else right -= given.get(v);
        parents.forEach((u, p) => {
          const slope = coefficients[c * own + p + 1];
          if (column.has(u)) matrix[f * width + column.get(u)] -= slope / std; else right += slope * given.get(u);
        });
        matrix[f * width + k] = right / std;
      });
      logs[q] = log + solveEquations(matrix, F, k, means.subarray(q * k, q * k + k), variances.subarray(q * k, q * k + k));
    }
    return { logs, means, variances };
  }

  /** The factors of continuous variables over discrete ones, and what becomes of the hidden variables. */
  makeFactors(observed, set) {
    const given = new Map([...observed, ...set].filter(([v]) => !this.place.has(v)));
    const states = this.takeStates(new Map([...observed, ...set]));
    return this.findComponents(observed, set).map((component) => {
      const place = this.tree.cliques.findIndex((clique) => component.scope.every((d) => clique.includes(d)));
      return { ...component, place, ...this.solve(component, given, states) };
    });
  }

  takeStates(values) {
    return new Map([...values].flatMap(([v, x]) => (this.place.has(v) ? [[this.place.get(v), x]] : [])));
  }

  /** Distributions of discrete variables, means and standard deviations of continuous ones; null if impossible. */
  answer(observed, set) {
    const factors = this.makeFactors(observed, set), seen = this.takeStates(observed), done = this.takeStates(set);
    const extra = factors.filter(({ scope }) => scope.length), fixed = factors.filter(({ scope }) => !scope.length);
    const constant = fixed.reduce((sum, { logs }) => sum + logs[0], 0);
    const { logTotal, marginals, tables } = this.tree.propagate(seen, done, extra);
    if (!marginals) return null;
    const means = new Float64Array(this.n), stds = new Float64Array(this.n);
    for (const [v, x] of [...observed, ...set]) if (!this.place.has(v)) means[v] = x;
    for (const { hidden, scope, place, means: own, variances } of factors) {
      const shares = scope.length ? this.tree.project(place, tables[place], scope) : [1], k = hidden.length;
      hidden.forEach((u, j) => {
        let mean = 0, spread = 0;
        for (let q = 0; q < shares.length; q++) if (shares[q] > 0) mean += shares[q] * own[q * k + j];
        for (let q = 0; q < shares.length; q++) if (shares[q] > 0) spread += shares[q] * (variances[q * k + j] + (own[q * k + j] - mean) ** 2);
        means[u] = mean;
        stds[u] = Math.sqrt(spread);
      });
    }
    const ofVariable = Array(this.n).fill(null);
    this.discrete.forEach((v, k) => { ofVariable[v] = marginals[k]; });
    return { logTotal, logProbability: logTotal + constant, marginals: ofVariable, means, stds, extra, seen, done, ofTree: marginals };
  }
}

/** Least squares of F equations in k unknowns by Householder reflections, not by normal equations, which would square the
 *  condition number. Fills means and variances; returns minus half the residual minus the log-determinant of R. */
function solveEquations(matrix, F, k, means, variances) {
  const width = k + 1;
  let log = 0;
  for (let j = 0; j < k; j++) {
    let norm = 0;
    for (let f = j; f < F; f++) norm += matrix[f * width + j] ** 2;
    norm = Math.sqrt(norm) * (matrix[j * width + j] > 0 ? -1 : 1);
    const head = matrix[j * width + j] - norm;
    log -= Math.log(Math.abs(norm));
    for (let c = j + 1; c < width; c++) {
      let dot = head * matrix[j * width + c];
      for (let f = j + 1; f < F; f++) dot += matrix[f * width + j] * matrix[f * width + c];
      dot /= norm * head; // minus 2 over the squared length of the reflection, which is -2 norm head
      matrix[j * width + c] += dot * head;
      for (let f = j + 1; f < F; f++) matrix[f * width + c] += dot * matrix[f * width + j];
    }
    matrix[j * width + j] = norm;
  }
  for (let f = k; f < F; f++) log -= 0.5 * matrix[f * width + k] ** 2;
  const row = new Float64Array(k);
  for (let i = k - 1; i >= 0; i--) {
    let sum = matrix[i * width + k];
    for (let j = i + 1; j < k; j++) sum -= matrix[i * width + j] * means[j];
    means[i] = sum / matrix[i * width + i];
  }
  for (let i = 0; i < k; i++) { // row i of the inverse of R
    let sum = 0;
    for (let j = i; j < k; j++) {
      let value = i === j ? 1 : 0;
      for (let l = i; l < j; l++) value -= row[l] * matrix[l * width + j];
      row[j] = value / matrix[j * width + j];
      sum += row[j] ** 2;
    }
    variances[i] = sum;
  }
  return log;
}
