"""Convert the records of quality.py to Markdown tables."""

from statistics import median

from report import NONE, _digits, _table

OURS = "pgmx_thorough"
PEERS = ("pybnesian", "pyagrum", "pyagrum_tabu")
#: Run where Java and a jar are there.
TETRAD = ("tetrad_boss", "tetrad_fges")
#: Run where R has the package.
BNLEARN = ("bnlearn", "bnlearn_tabu")
TITLES = {
    "bnlearn": "bnlearn hc",
    "bnlearn_tabu": "bnlearn tabu",
    "pgmx": "pgmx greedy",
    "pgmx_thorough": "pgmx thorough",
    "pyagrum": "pyagrum greedy",
    "pyagrum_tabu": "pyagrum tabu",
    "pgmx_tabu": "tabu walk, patience 100",
    "pgmx_restarts": "20 restarts",
    "pgmx_annealing": "annealing",
    "pgmx_best_first": "best first",
    "pgmx_ges": "pgmx equivalence search",
    "tetrad_boss": "Tetrad BOSS",
    "tetrad_fges": "Tetrad fGES",
}
SCORES = {"bic": "BIC", "bdeu": "BDeu, equivalent sample size 10"}
SAME = 1e-6  # nats: scores of Markov equivalent graphs differ by rounding


def progress(record):
    """Return one line for the terminal."""
    name = f"{record['network']} {record['score_name']} order {record['order']} {record['solver']}"
    if record["status"] != "done":
        return f"{name}: {record['status']} {record.get('error', '')}"
    return f"{name}: {record['learn']:.4g} s, score {record['score']:.1f}, {record['n_edges']} edges"


class Group:
    """The records of one network and one score, by solver and order."""

    def __init__(self, content, network, score):
        self.network = network
        self.truth = content["problems"][network]["true"].get(score)  # none of a real table
        self.limit = content["timeout"]
        self.records = {}
        for r in content["records"]:
            if (r["network"], r["score_name"]) == (network, score):
                self.records.setdefault(r["solver"], {})[r["order"]] = r

    def values(self, solver, field):
        """Return {order: value} of the runs that came to their end."""
        return {o: r[field] for o, r in sorted(self.records.get(solver, {}).items()) if r["status"] == "done"}

    def over(self, solver):
        """Return whether the solver ran into the limit before its first graph."""
        records = self.records.get(solver, {}).values()
        return not self.values(solver, "score") and any(r["status"] == "timeout" for r in records)

    def seconds(self, solver):
        """Return the median of the learning call, or None."""
        values = self.values(solver, "learn").values()
        return median(values) if values else None

    def cell(self, solver):
        scores = self.values(solver, "score")
        if self.over(solver):
            return f"(> {self.limit:g} s)"
        if not scores:
            return NONE
        few = f" [{len(scores)}]" if len(scores) < 10 else ""
        return f"{median(scores.values()):,.1f} ({_digits(self.seconds(solver))} s){few}"

    def gaps(self):
        """Return {order: score of the thorough search less that of the best peer that was run on this order}."""
        peers = [self.values(peer, "score") for peer in PEERS]
        gaps = {}
        for order, mine in self.values(OURS, "score").items():
            theirs = [scores[order] for scores in peers if order in scores]
            if theirs:
                gaps[order] = mine - max(theirs)
        return gaps

    def cost(self):
        """Return the seconds of the thorough search over those of the fastest peer, as text."""
        mine = self.seconds(OURS)
        theirs = [s for s in map(self.seconds, PEERS) if s is not None]
        if mine is None or not (theirs or any(map(self.over, PEERS))):
            return NONE
        return f"{mine / min(theirs):.2f}" if theirs else f"< {mine / self.limit:.2g}"


def markdown(content, *, details=False):
    """Return the tables: each score with its differences by order, the other searches of pgmx, the circumstances."""
    parts = []
    for score, title in SCORES.items():
        groups = [Group(content, network, score) for network in content["problems"]]
        groups = [group for group in groups if any(s in group.records for s in (OURS, *PEERS))]
        if not groups:
            continue
        parts += [
            f"**{title}: median score over the column orders (median user-CPU seconds of the learning call)**",
            _scores(groups),
            f"**{title}: pgmx thorough minus the best peer, each column order, nats**",
            _orders(groups),
        ]
        if details:
            parts += [f"**{title}: each score**", _details(groups)]
    for score, title in SCORES.items():
        groups = [Group(content, network, score) for network in content["problems"]]
        if any("pgmx_tabu" in group.records for group in groups):
            heading = (
                f"**{title}: other searches of pgmx, score minus the score of the plain climb "
                "(seconds, multiple of its seconds)**"
            )
            parts += [heading, _variants(groups)]
    return "\n\n".join([*parts, footer(content)])


def _scores(groups):
    solvers = ("pgmx", OURS, *PEERS)
    header = ["network", "true graph", *(TITLES.get(s, s) for s in solvers), "thorough - best peer", "orders not below"]
    rows = []
    for group in groups:
        gaps = group.gaps().values()
        gap = f"{median(gaps):+,.1f}" if gaps else NONE
        won = f"{sum(gap >= -SAME for gap in gaps)} of {len(gaps)}" if gaps else NONE
        truth = NONE if group.truth is None else f"{group.truth:,.1f}"
        row = [group.network, truth, *map(group.cell, solvers), gap, won, group.cost()]
        rows.append(row)
    return _table([*header, "seconds / fastest peer"], rows)


def _orders(groups):
    orders = sorted({order for group in groups for order in group.gaps()})
    rows = []
    for group in groups:
        gaps = group.gaps()
        rows.append([group.network, *(f"{gaps[o]:+,.1f}" if o in gaps else NONE for o in orders)])
    return _table(["network", *map(str, orders)], rows)


def _details(groups):
    solvers = ("pgmx", OURS, *PEERS)
    rows = []
    for group in groups:
        scores = [group.values(s, "score") for s in solvers]
        for order in sorted(set().union(*scores)):
            cells = [f"{by_order[order]:,.1f}" if order in by_order else NONE for by_order in scores]
            gap = group.gaps().get(order)
            rows.append([group.network, str(order), *cells, NONE if gap is None else f"{gap:+,.1f}"])
    return _table(["network", "order", *(TITLES.get(s, s) for s in solvers), "thorough - best peer"], rows)


def _variants(groups):
    solvers = ("pgmx_tabu", "pgmx_restarts", OURS, "pgmx_annealing", "pgmx_best_first")
    rows = []
    for group in groups:
        if "pgmx_tabu" not in group.records:
            continue
        plain, times = group.values("pgmx", "score"), group.values("pgmx", "learn")
        cells = []
        for solver in solvers:
            scores, seconds = group.values(solver, "score"), group.values(solver, "learn")
            shared = [o for o in scores if o in plain]
            if not shared:
                cells.append(NONE)
                continue
            gain = median(scores[o] - plain[o] for o in shared)
            cost = median(seconds[o] / times[o] for o in shared)
            few = f" [{len(shared)}]" if len(shared) < 10 else ""
            cells.append(f"{gain:+,.1f} ({_digits(median(seconds.values()))} s, {_digits(cost)}x){few}")
        plain_cell = f"{_digits(median(times.values()))} s" if times else NONE
        rows.append([group.network, plain_cell, *cells])
    return _table(["network", "plain climb", *(TITLES[s] for s in solvers)], rows)


def _versions(versions):
    return [f"{name} {'from the checkout' if name == 'pgmx' else number}" for name, number in versions.items()]


def footer(content):
    here, records = content["machine"], content["records"]
    lines = [
        f"{content['rows']:,} rows. [k]: k orders only. (> {content['timeout']:g} s): ended at the limit on the first "
        "order, no graph; -: not run.",
        f"Processor: {here['processor']} ({', '.join(here['instruction_sets'])}), {here['cores']} cores, "
        f"{here['system']}, Python {here['python']}.",
        "Versions: " + ", ".join(_versions(content["versions"])) + ".",
    ]
    for score, title in SCORES.items():
        gaps = {}
        for r in records:
            if r["score_name"] == score and r["status"] == "done":
                gaps[r["solver"]] = max(gaps.get(r["solver"], 0.0), abs(r["gap"]))
        told = ", ".join(f"{solver} {gap:.0e}" for solver, gap in gaps.items())
        lines.append(f"{title}: the tools' own scores differ from the outside one's by at most (relative) {told}.")
    lines += [f"FAILED: {progress(r)}" for r in records if r["status"] == "failed"]
    return "\n".join(f"- {line}" for line in lines)
