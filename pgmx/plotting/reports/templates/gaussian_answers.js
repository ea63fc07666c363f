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

  /** Mean and standard deviation of each variable given values; null if the given values determine each other. */
  condition(observed, set) {
    const { mean, covariance } = this.makeMoments(set), given = [...observed.keys()], m = given.length;
    const factor = given.map(() => new Float64Array(m)), solved = new Float64Array(m);
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
    return { means, stds };
  }
}

const RANGE = 4, COVERAGE = 1.959963984540054; // the slider spans 4 standard deviations; the intervals hold 95 %

class GaussianPanel extends Panel {
  constructor(network) {
    super(network);
    this.model = new GaussianNetwork(network);
    const { means, stds } = this.model.condition(new Map(), new Map());
    this.low = means.map((mean, v) => mean - RANGE * (stds[v] || 1));
    this.high = means.map((mean, v) => mean + RANGE * (stds[v] || 1));
    this.begin();
  }

  fillCard(box, v) {
    const line = make("div", undefined, "state"), bar = make("i"), value = make("b"), row = make("div", undefined, "given-value");
    const slider = Object.assign(make("input"), { type: "range", min: this.low[v], max: this.high[v], step: "any" });
    const field = Object.assign(make("input"), { type: "number", step: "any", placeholder: "value" });
    slider.setAttribute("aria-label", `${this.network.names[v]}: slider`);
    field.setAttribute("aria-label", `${this.network.names[v]}: observed value, empty for none`);
    slider.addEventListener("change", () => this.give(v, Number(slider.value)));
    field.addEventListener("change", () => this.give(v, field.value === "" ? null : Number(field.value)));
    line.append(bar, value);
    row.append(slider, field);
    box.append(line, row);
    return { bar, value, slider, field };
  }

  give(v, value) {
    this.remember();
    this.forget(v);
    if (value !== null && Number.isFinite(value)) this.chosen().set(v, value);
    this.update();
  }

  show(parts, v) {
    const { bar, value, slider, field } = parts, answer = this.answer;
    const given = this.observed.get(v) ?? this.set.get(v);
    field.value = given === undefined ? "" : String(given);
    if (!answer) { bar.style.width = "0"; value.textContent = ""; return; }
    const mean = answer.means[v], half = COVERAGE * answer.stds[v], span = this.high[v] - this.low[v];
    const place = (x) => 100 * Math.min(1, Math.max(0, (x - this.low[v]) / span));
    bar.style.left = `${place(mean - half)}%`;
    bar.style.width = `${Math.max(place(mean + half) - place(mean - half), 0.7)}%`;
    value.textContent = half > 0 ? `${write(mean)} [${write(mean - half)}, ${write(mean + half)}]` : write(mean);
    slider.value = mean;
  }

  compute() { this.answer = this.model.condition(this.observed, this.set); }

  describe() {
    if (!this.answer) return "The observed values determine each other, so that they cannot be observed together. Take the last one back.";
    const list = (chosen) => [...chosen].map(([v, x]) => `${this.network.names[v]} = ${write(x)}`).join(", ");
    if (!this.observed.size && !this.set.size) return "Nothing is observed: the bars are means with 95 % intervals. Move a slider or type a number.";
    return `Means and 95 % intervals given ${[list(this.observed), this.set.size ? `do(${list(this.set)})` : ""].filter(Boolean).join(", ")}`;
  }
}

const write = (value) => String(Number(value.toPrecision(4)));
