"use strict";
// The panel of answers: a card for each variable, what is observed and set, and the way back.

const MOST_RANKED = 10;
const RANGE = 4, COVERAGE = 1.959963984540054; // the slider spans 4 standard deviations; the intervals hold 95 %

/** Cards of all variables; the kinds of networks compute `marginals`, `answer` and `logProbability`. */
class Panel {
  constructor(network) {
    this.network = network;
    this.isState = network.names.map((_, v) => Boolean(network.states && network.states[v]));
    this.observed = new Map();
    this.set = new Map();
    this.past = [];
    this.marginals = null; // of discrete variables; null if they are impossible
    this.answer = null; // means and stds of continuous variables; null if they are impossible
    this.logProbability = 0;
  }

  get isPossible() { return Boolean(this.marginals || this.answer); }

  begin() {
    this.compute();
    const answer = this.answer; // nothing is observed yet
    this.spans = this.isState.map((isState, v) => (isState ? null : RANGE * (answer.stds[v] || 1)));
    this.middles = this.isState.map((isState, v) => (isState ? null : answer.means[v]));
    this.cards = this.network.names.map((name, v) => {
      const box = make("div", undefined, "card"), title = make("h3");
      title.append(make("span", name), " ", make("em"));
      box.append(title);
      return { box, mark: title.lastChild, parts: this.isState[v] ? this.fillStates(box, v) : this.fillNumber(box, v) };
    });
    find("bars").replaceChildren(...this.cards.map((card) => card.box));
    find("undo").addEventListener("click", () => this.undo());
    find("clear").addEventListener("click", () => { this.remember(); this.observed.clear(); this.set.clear(); this.update(); });
    find("bar-filter").addEventListener("input", (event) => this.filter(event.target.value));
    find("do-box").hidden = !this.network.isDirected;
    if (find("target")) {
      const names = this.network.names.flatMap((name, v) => (this.isState[v] ? [Object.assign(make("option", name), { value: v })] : []));
      find("target").append(...names);
      find("target").addEventListener("change", () => this.rank());
    }
    this.update();
  }

  // ---- what is given ----

  remember() { this.past.push([new Map(this.observed), new Map(this.set)]); }

  forget(v) { this.observed.delete(v); this.set.delete(v); }

  chosen() { return find("do").checked && this.network.isDirected ? this.set : this.observed; }

  isGiven(v) { return this.observed.has(v) || this.set.has(v); }

  undo() {
    if (!this.past.length) return;
    [this.observed, this.set] = this.past.pop();
    this.update();
  }

  choose(v, x) {
    this.remember();
    const isHeld = this.observed.get(v) === x || this.set.get(v) === x;
    this.forget(v);
    if (!isHeld) this.chosen().set(v, x);
    this.update();
  }

  give(v, value) {
    this.remember();
    this.forget(v);
    if (value !== null && Number.isFinite(value)) this.chosen().set(v, value);
    this.update();
  }

  // ---- what is shown ----

  fillStates(box, v) {
    return this.network.states[v].map((state, x) => {
      const button = make("button", undefined, "state"), bar = make("i"), value = make("b");
      button.type = "button";
      button.append(bar, make("span", state), value);
      button.addEventListener("click", () => this.choose(v, x));
      box.append(button);
      return { button, bar, value };
    });
  }

  fillNumber(box, v) {
    const line = make("div", undefined, "state"), bar = make("i"), value = make("b"), row = make("div", undefined, "given-value");
    const low = this.middles[v] - this.spans[v], high = this.middles[v] + this.spans[v];
    const slider = Object.assign(make("input"), { type: "range", min: low, max: high, step: "any" });
    const field = Object.assign(make("input"), { type: "number", step: "any", placeholder: "value" });
    slider.setAttribute("aria-label", `${this.network.names[v]}: slider`);
    field.setAttribute("aria-label", `${this.network.names[v]}: observed value, empty for none`);
    slider.addEventListener("change", () => this.give(v, Number(slider.value)));
    field.addEventListener("change", () => this.give(v, field.value === "" ? null : Number(field.value)));
    line.append(bar, value);
    row.append(slider, field);
    box.append(line, row);
    return { bar, value, slider, field, low, high };
  }

  update() {
    this.compute();
    this.cards.forEach(({ box, mark, parts }, v) => {
      mark.textContent = this.observed.has(v) ? "observed" : this.set.has(v) ? "set" : "";
      box.classList.toggle("given", mark.textContent !== "");
      if (this.isState[v]) this.showStates(parts, v); else this.showNumber(parts, v);
    });
    find("undo").disabled = !this.past.length;
    find("clear").disabled = !this.observed.size && !this.set.size;
    find("evidence").textContent = this.describe();
    if (!find("target")) return;
    this.explain();
    this.rank();
  }

  showStates(rows, v) {
    rows.forEach(({ button, bar, value }, x) => {
      const p = this.marginals ? this.marginals[v][x] : null, share = p === null ? "" : formatShare(p);
      bar.style.width = p === null ? "0" : `${100 * p}%`;
      value.textContent = share;
      button.setAttribute("aria-pressed", String(this.observed.get(v) === x || this.set.get(v) === x));
      button.setAttribute("aria-label", [`${this.network.names[v]}: ${this.network.states[v][x]}`, share].filter(Boolean).join(", "));
    });
  }

  showNumber({ bar, value, slider, field, low, high }, v) {
    const given = this.observed.get(v) ?? this.set.get(v);
    field.value = given === undefined ? "" : String(given);
    if (!this.answer) { bar.style.width = "0"; value.textContent = ""; return; }
    const mean = this.answer.means[v], half = COVERAGE * this.answer.stds[v];
    const place = (x) => 100 * Math.min(1, Math.max(0, (x - low) / (high - low)));
    bar.style.left = `${place(mean - half)}%`;
    bar.style.width = `${Math.max(place(mean + half) - place(mean - half), 0.7)}%`;
    value.textContent = half > 0 ? `${write(mean)} [${write(mean - half)}, ${write(mean + half)}]` : write(mean);
    slider.value = mean;
    slider.setAttribute("aria-valuetext", value.textContent);
  }

  list(chosen) {
    const spell = (v, x) => (this.isState[v] ? this.network.states[v][x] : write(x));
    return [...chosen].map(([v, x]) => `${this.network.names[v]} = ${spell(v, x)}`).join(", ");
  }

  describe() {
    const hasStates = this.isState.includes(true), hasNumbers = this.isState.includes(false);
    const bars = [hasStates && "the marginal distributions", hasNumbers && "means with 95 % intervals"].filter(Boolean).join(" and ");
    const ways = [hasStates && "Click a state", hasNumbers && "Move a slider or type a number"].filter(Boolean).join(". ");
    if (!this.observed.size && !this.set.size) return `Nothing is observed: the bars are ${bars}. ${ways}.`;
    if (!this.observed.size) return `The bars are ${hasStates ? "the distributions" : bars} given do(${this.list(this.set)}).`;
    const isDensity = [...this.observed.keys()].some((v) => !this.isState[v]);
    const text = `${isDensity ? "Density p" : "P"}(${this.list(this.observed)}${this.set.size ? ` | do(${this.list(this.set)})` : ""})`;
    if (!this.isPossible) return hasStates ? `${text} = 0: these states cannot occur together. Take the last click back.`
      : "The observed values determine each other, so that they cannot be observed together. Take the last one back.";
    const p = Math.exp(this.logProbability);
    return `${text} = ${p > 1e-300 && p < 1e300 ? Number(p.toPrecision(6)) : `exp(${this.logProbability.toFixed(3)})`}`;
  }

  explain() {
    const found = this.isPossible && this.maximise();
    find("best-box").hidden = !found;
    if (!found) return;
    this.best = found.states;
    find("best").textContent = this.list(found.states.flatMap((x, v) => (this.isState[v] && !this.isGiven(v) ? [[v, x]] : [])));
    find("best-share").textContent = `probability ${Number(Math.exp(found.log).toPrecision(4))}`;
  }

  rank() {
    const target = Number(find("target").value);
    const reason = find("target").value === "" ? "Choose a variable." : this.isGiven(target) ? "Its state is given." : "";
    if (reason || !this.isPossible) { find("ranking").replaceChildren(make("li", reason, "hint")); return; }
    const bits = this.inform(target), free = [...bits.keys()].filter((v) => v !== target && this.isState[v] && !this.isGiven(v));
    const order = free.sort((a, b) => bits[b] - bits[a] || a - b);
    find("ranking").replaceChildren(...order.slice(0, MOST_RANKED).map((v) => make("li", `${this.network.names[v]}: ${bits[v].toFixed(4)} bits`)));
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
    this.begin();
  }

  compute() {
    const { logTotal, marginals } = this.tree.propagate(this.observed, this.set);
    this.marginals = marginals;
    this.logProbability = logTotal - this.tree.logTotal;
  }

  maximise() {
    const states = this.tree.maximise(this.observed, this.set);
    return { states: [...states], log: this.tree.logValue(states, this.set) - this.tree.logTotal - this.logProbability };
  }

  inform(target) { return this.tree.information(target, this.observed, this.set, this.marginals); }
}

class GaussianPanel extends Panel {
  constructor(network) {
    super(network);
    this.model = new GaussianNetwork(network);
    this.begin();
  }

  compute() {
    this.answer = this.model.condition(this.observed, this.set);
    this.logProbability = this.answer && this.answer.logDensity;
  }
}

class MixedPanel extends Panel {
  constructor(network) {
    super(network);
    this.model = new MixedNetwork(network);
    this.begin();
  }

  compute() {
    this.answer = this.model.answer(this.observed, this.set);
    this.marginals = this.answer && this.answer.marginals;
    this.logProbability = this.answer && this.answer.logProbability;
  }

  /** The most probable configuration of the discrete variables; continuous ones are integrated out. */
  maximise() {
    const { seen, done, extra, logTotal } = this.answer, states = this.model.tree.maximise(seen, done, extra);
    const ofVariable = Array(this.isState.length).fill(null);
    this.model.discrete.forEach((v, k) => { ofVariable[v] = states[k]; });
    return { states: ofVariable, log: this.model.tree.logValue(states, done, extra) - logTotal };
  }

  inform(target) {
    const { seen, done, extra, ofTree } = this.answer, bits = Array(this.isState.length).fill(0);
    const found = this.model.tree.information(this.model.place.get(target), seen, done, ofTree, extra);
    this.model.discrete.forEach((v, k) => { bits[v] = found[k]; });
    return bits;
  }
}

function makePanel(network) {
  if (network.tree) return new MixedPanel(network);
  return network.states ? new DiscretePanel(network) : new GaussianPanel(network);
}

function formatShare(p) {
  const share = 100 * p;
  return share === 0 || share === 100 ? `${share} %` : share < 0.1 ? `${share.toExponential(1)} %` : `${share.toFixed(share < 10 ? 2 : 1)} %`;
}

const write = (value) => String(Number(value.toPrecision(4)));
