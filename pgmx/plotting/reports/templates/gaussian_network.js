"use strict";
// Exact answers of a Gaussian network: means and standard deviations given observed and set values.

class GaussianNetwork {
  constructor(network) {
    this.network = network;
    this.n = network.names.length;
    if (!network.isDirected) {
      const all = decodeDoubles(network.values);
      this.fixed = { mean: all.subarray(0, this.n), covariance: (u, v) => all[this.n * (v + 1) + u] };
    }
  }

  /** Means and covariances; in a Bayesian network those after some variables are set (Pearl 2009, section 3.2). */
  makeMoments(set) {
    if (this.fixed) return this.fixed;
    const mean = new Float64Array(this.n), matrix = new Float64Array(this.n * this.n), done = [];
    for (const [v, parents, beta, std] of this.network.regressions) {
      done.push(v);
      if (set.has(v)) { mean[v] = set.get(v); continue; }
      mean[v] = parents.reduce((sum, p, k) => sum + beta[k + 1] * mean[p], beta[0]);
      for (const u of done) {
        if (u === v) continue;
        const value = parents.reduce((sum, p, k) => sum + beta[k + 1] * matrix[p * this.n + u], 0);
        matrix[u * this.n + v] = matrix[v * this.n + u] = value;
      }
      matrix[v * this.n + v] = parents.reduce((sum, p, k) => sum + beta[k + 1] * matrix[p * this.n + v], std * std);
    }
    return { mean, covariance: (u, v) => matrix[u * this.n + v] };
  }

  /** Means and standard deviations given values, and the log-density of the observed ones; null if these determine each other. */
  condition(observed, set) {
    const { mean, covariance } = this.makeMoments(set), given = [...observed.keys()], m = given.length;
    const factor = given.map(() => new Float64Array(m)), solved = new Float64Array(m);
    let logDensity = -0.5 * m * Math.log(2 * Math.PI);
    for (let i = 0; i < m; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = covariance(given[i], given[j]);
        for (let k = 0; k < j; k++) sum -= factor[i][k] * factor[j][k];
        if (i === j && !(sum > 1e-12 * covariance(given[i], given[i]))) return null;
        factor[i][j] = i === j ? Math.sqrt(sum) : sum / factor[j][j];
      }
      let rest = observed.get(given[i]) - mean[given[i]];
      for (let k = 0; k < i; k++) rest -= factor[i][k] * solved[k];
      solved[i] = rest / factor[i][i];
      logDensity -= 0.5 * solved[i] ** 2 + Math.log(factor[i][i]);
    }
    const means = new Float64Array(this.n), stds = new Float64Array(this.n);
    for (let v = 0; v < this.n; v++) {
      let value = mean[v], variance = covariance(v, v);
      const row = new Float64Array(m);
      for (let i = 0; i < m; i++) {
        row[i] = covariance(v, given[i]);
        for (let k = 0; k < i; k++) row[i] -= factor[i][k] * row[k];
        row[i] /= factor[i][i];
        value += row[i] * solved[i];
        variance -= row[i] * row[i];
      }
      const isGiven = observed.has(v) || set.has(v);
      means[v] = observed.get(v) ?? set.get(v) ?? value;
      stds[v] = isGiven ? 0 : Math.sqrt(Math.max(variance, 0));
    }
    return { means, stds, logDensity };
  }
}
