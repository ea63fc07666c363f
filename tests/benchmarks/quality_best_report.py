"""Convert the records of ``quality.py --best`` to Markdown tables."""

from statistics import median

from quality_report import BNLEARN, PEERS, SAME, SCORES, TETRAD, TITLES, Group, footer, progress

from report import NONE, _digits, _table

BEST, THOROUGH, EXACT, CLASSES = "pgmx_best", "pgmx_thorough", "pgmx_exact", "pgmx_ges"
OTHERS = (*PEERS, *BNLEARN, *TETRAD)
__all__ = ["markdown", "progress"]


def markdown(content, *, details=False):
    """Return the tables of each score: scores and seconds, distances to the true graph; with `details` each order."""
    parts = []
    for score, title in SCORES.items():
        groups = [Group(content, network, score) for network in content["problems"]]
        groups = [group for group in groups if BEST in group.records]
        if not groups:
            continue
        parts += [f"**{title}: medians over the column orders (user-CPU seconds)**", _scores(groups, content)]
        parts += [f"**{title}: distance to the true graph, medians**", _distances(groups)]
        if details:
            parts += [f"**{title}: best minus thorough, minus the best peer, each order, nats**", _details(groups)]
    return "\n\n".join([*parts, footer(content)])


def _gaps(group, solvers):
    """Return {order: score of `best` minus the highest of the solvers that were run on this order}."""
    others = [group.values(solver, "score") for solver in solvers]
    gaps = {}
    for order, mine in group.values(BEST, "score").items():
        theirs = [scores[order] for scores in others if order in scores]
        if theirs:
            gaps[order] = mine - max(theirs)
    return gaps


def _scores(groups, content):
    header = ["cell", "variables", "rows", "best", "- thorough", "- best peer", "orders not below a peer"]
    rows = []
    for group in groups:
        problem = content["problems"][group.network]
        scores = list(group.values(BEST, "score").values())
        peers = _gaps(group, OTHERS)
        same = max(sum(abs(a - b) < 1e-4 for b in scores) for a in scores) if scores else 0
        rows.append(
            [
                group.network,
                str(problem["n_variables"]),
                f"{problem.get('n_rows', content['rows']):,}",
                f"{median(scores):,.1f} ({_digits(group.seconds(BEST))} s)" if scores else NONE,
                _signed(_gaps(group, [THOROUGH])),
                _signed(peers),
                f"{sum(gap >= -SAME for gap in peers.values())} of {len(peers)}" if peers else NONE,
                f"{same} of {len(scores)}",
                _signed(_gaps(group, [EXACT])),
                *(_signed(_gaps(group, [solver])) for solver in (CLASSES, *BNLEARN, *TETRAD)),
                *(_seconds(group, solver) for solver in (THOROUGH, CLASSES, *OTHERS)),
            ]
        )
    header += ["orders of one score", "- optimum", *(f"- {TITLES[solver]}" for solver in (CLASSES, *BNLEARN, *TETRAD))]
    header += [f"{TITLES.get(solver, solver)}, s" for solver in (THOROUGH, CLASSES, *OTHERS)]
    return _table(header, rows)


def _distances(groups):
    solvers = (BEST, THOROUGH, CLASSES, *OTHERS)
    rows = []
    for group in groups:
        if group.truth is None:
            continue
        row = [group.network]
        for field in ("shd", "sid"):
            for solver in solvers:
                values = [r.get(field) for r in group.records.get(solver, {}).values() if r["status"] == "done"]
                known = [value for value in values if value is not None]
                row.append(f"{median(known):g}" if known else NONE)
        above = [value - group.truth for value in group.values(BEST, "score").values()]
        rows.append([*row, f"{median(above):+,.1f}" if above else NONE])
    names = ["best", *(TITLES.get(solver, solver) for solver in solvers[1:])]
    header = ["cell", *(f"{kind}: {name}" for kind in ("classes", "interventions") for name in names)]
    return _table([*header, "best - true graph, nats"], rows)


def _details(groups):
    rows = []
    for group in groups:
        thorough, peers = _gaps(group, [THOROUGH]), _gaps(group, OTHERS)
        for order in sorted(thorough):
            gap = f"{peers[order]:+,.1f}" if order in peers else NONE
            rows.append([group.network, str(order), f"{thorough[order]:+,.1f}", gap])
    return _table(["cell", "order", "- thorough", "- best peer"], rows)


def _signed(gaps):
    return f"{median(gaps.values()):+,.1f}" if gaps else NONE


def _seconds(group, solver):
    if group.over(solver):
        return f"> {group.limit:g}"
    seconds = group.seconds(solver)
    return NONE if seconds is None else _digits(seconds)
