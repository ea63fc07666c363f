"""Convert the records of markov.py to Markdown tables."""

from statistics import median

from markov_solvers import ORDER

TITLES = {
    "optimum": "To no violation, pseudolikelihood",
    "features": "Feature by feature (another objective, plain l1), to no violation, pseudolikelihood",
    "limit-bethe": "At most 3n edges, Bethe loss",
    "limit-bethe-mild": "At most 3n edges, Bethe loss, milder l2",
    "limit-pseudolikelihood": "At most 3n edges, pseudolikelihood",
    "scale": "At scale",
    "real": "Real tables, to no violation, pseudolikelihood",
}
ONE_BY_ONE, BATCH = "exhaustive", "exhaustive-batch"
CHAIN = ("exhaustive", "best-choice-1", "best-choice-0.5", "best-choice-0", "first-hit")
STREAMS = ("best-choice-1", "best-choice-0.5", "best-choice-0", "first-hit")


def progress(record):
    """Return one line for the terminal."""
    seconds = record["seconds"]["total"]
    quality = " ".join(f"{key} {record[key]:.6g}" for key in ("objective", "npll", "recall", "kkt") if key in record)
    ended = record.get("stopped_by", "")
    return (
        f"{record['suite']} {record['problem']} {record['method']} {record['run']}: {seconds:.3g} s {quality} {ended}"
    )


def markdown(results):
    """Return all tables, suite by suite."""
    parts = []
    for suite, title in TITLES.items():
        chosen = [r for r in results["records"] if r["suite"] == suite]
        if not chosen:
            continue
        parts.append(f"### {title}")
        for problem in dict.fromkeys(r["problem"] for r in chosen):
            cells = {}
            for record in chosen:
                if record["problem"] == problem:
                    cells.setdefault(record["method"], []).append(record)
            cells = dict(sorted(cells.items(), key=lambda cell: ORDER.index(cell[0])))
            parts.append(heading(problem, results["problems"][problem], cells))
            parts.append((real_table if suite == "real" else run_table)(cells, suite))
            parts.append(remarks(suite, cells))
    parts.append(footer(results))
    return "\n\n".join(part for part in parts if part)


def heading(problem, facts, cells):
    """Return what a table is about."""
    setting = next(iter(cells.values()))[0]["setting"]
    text = f"**{problem}**: {facts['variables']:,} variables, {facts['states']} states, {facts['rows']:,} rows"
    if "text" in facts:
        text += f" ({facts['text']})"
    text += f"; lam {setting['lam']:g}, l2 {setting['l2']:g}; held-out NPLL of independent variables "
    text += f"{facts['independent_npll']:.2f}"
    if "true_npll" in facts:
        text += f", of the true network {facts['true_npll']:.2f}; {facts['true_edges']:,} true edges"
    return text + "."


def run_table(cells, suite):
    """Return one row a method: medians over the runs."""
    header = ["method", "CPU s", "statistics", "scoring", "optimising", "rest", "rounds", "tests", "tables"]
    header += ["activated", "edges", "objective", "KKT", "recall", "precision", "recall of activated", "NPLL"]
    memory = suite == "scale"
    rows = []
    for method, records in cells.items():
        part = middle(records, "seconds")
        row = [method + stopped(records), *map(digits, (part["total"], part["statistics"], part["scoring"]))]
        row += [digits(part["optimising"]), digits(part["choosing"] + part["reporting"])]
        row += [f"{middle(records, key):,.0f}" for key in ("rounds", "tests", "tables", "activated", "edges")]
        row += [f"{middle(records, 'own_objective'):.4f}", f"{max(r['kkt'] for r in records):.0e}"]
        row += [f"{middle(records, key):.3f}" for key in ("recall", "precision", "recall_activated")]
        row.append(f"{middle(records, 'npll'):.2f}")
        row += [f"{max(r['peak_mib'] for r in records):,.0f}"] if memory else []
        rows.append(row)
    return table([*header, *(["peak MiB"] if memory else [])], rows)


def real_table(cells, suite):
    """Return one row a method for a table whose true graph nobody knows."""
    rows = []
    for method, records in cells.items():
        objective = middle([r for r in records if "objective" in r], "objective")
        kkt = [r["kkt"] for r in records if "kkt" in r]
        row = [method + stopped(records), digits(middle(records, "seconds")["total"])]
        row += [f"{middle(records, 'edges'):,.0f}", "-" if objective is None else f"{objective:.4f}"]
        row += [f"{max(kkt):.0e}" if kkt else "-", f"{middle(records, 'npll'):.3f}"]
        rows.append(row)
    return table(["method", "CPU s", "edges", "objective", "KKT", "held-out NPLL"], rows)


def remarks(suite, cells):
    """Return what the goals ask of a table."""
    lines = []
    judged = {m: middle([r for r in rs if "objective" in r], "objective") for m, rs in cells.items()}
    seconds = {m: middle(rs, "seconds")["total"] for m, rs in cells.items()}
    tables = {m: middle(rs, "tables") for m, rs in cells.items() if "tables" in rs[0]}
    if suite in ("optimum", "features", "real"):
        ended = [m for m, rs in cells.items() if all(r.get("stopped_by") == "converged" for r in rs)]
        values = [judged[m] for m in ended]
        if len(values) > 1:
            spread = max(values) / min(values) - 1
            lines.append(f"Objectives of the {len(values)} methods that converged differ by {spread:.1e} (relative).")
    if suite in ("optimum", "real") and {"group-lasso", ONE_BY_ONE} <= seconds.keys():
        share = seconds["group-lasso"] / seconds[ONE_BY_ONE]
        lines.append(f"group-lasso takes {share:.2f} of the time of one-at-a-time exhaustive grafting.")
    if suite.startswith("limit"):
        lines += limit_remarks(cells, seconds, tables)
    runs = [r for rs in cells.values() for r in rs]
    certified = {r["method"]: r["kkt_outside"] for r in runs if "kkt_outside" in r}
    if certified:
        told = ", ".join(f"{method} {value:.2e}" for method, value in certified.items())
        lines.append(f"Largest violation over nodes and all pairs, by the outside function: {told}.")
    gaps = [abs(r["own_objective"] / r["objective"] - 1) for r in runs if comparable(r) and r.get("bp_converged", True)]
    if gaps:
        lines.append(
            f"Objectives in the table differ from the outside function's by at most {max(gaps):.0e} (relative)."
        )
    restless = [r for r in runs if not r.get("bp_converged", True)]
    if restless:
        above = [
            r["objective"] / r["own_objective"] - 1
            for r in restless
            if comparable(r) and r["objective"] == r["objective"]
        ]
        lines.append(
            f"In {len(restless)} of {len(runs)} runs fresh messages end at another fixed point than those the learner "
            "kept, or at none, which the learner reports by a flag; there the outside objective is "
            f"{min(above):.1%} to {max(above):.1%} higher. "
            f"Runs concerned: {counted(restless)}."
        )
    return "\n".join(f"- {line}" for line in lines)


def limit_remarks(cells, seconds, tables):
    """Return ratios and orders under a limit of edges."""
    lines = []
    if {ONE_BY_ONE, BATCH, "best-choice-0"} <= tables.keys():
        told = []
        for m in (m for m in STREAMS if m in tables):
            fewer, alone, batch = (
                tables[ONE_BY_ONE] / tables[m],
                seconds[ONE_BY_ONE] / seconds[m],
                seconds[BATCH] / seconds[m],
            )
            told.append(
                f"{m} {fewer:.1f}x fewer tables, {alone:.2g}x as fast as one at a time, {batch:.2g}x as in batches"
            )
        times = "; ".join(told)
        lines.append(f"Compared with exhaustive search: {times}.")
    own = {m: median(r["own_objective"] for r in rs) for m, rs in cells.items()}
    npll = {m: middle(rs, "npll") for m, rs in cells.items()}
    recall = {m: -middle(rs, "recall_activated") for m, rs in cells.items()}
    for name, values in (("objective", own), ("NPLL", npll), ("recall", recall)):
        lines.append(f"{name}: {order(values, CHAIN)}; heuristics {gain(values)}.")
    return lines


def order(values, chain):
    """Return the methods of a chain from the best to the worst, and where this is not the chain."""
    known = [m for m in chain if m in values]
    found = sorted(known, key=lambda m: values[m])
    text = ", ".join(f"{m} {abs(values[m]):.4g}" for m in found)
    return text + (" (the papers' order)" if found == known else " (NOT the papers' order)")


def gain(values):
    """Return whether the structure heuristics make a figure better."""
    told = []
    for method in STREAMS:
        plain = f"{method}-plain"
        if {method, plain} <= values.keys():
            sign = "better" if values[method] < values[plain] else "worse"
            told.append(f"{method} {sign} ({abs(values[plain]):.4g} without)")
    return ", ".join(told) or "not compared"


def counted(records):
    """Return the methods of some records, each with their number."""
    methods = [r["method"] for r in records]
    return ", ".join(f"{m} {methods.count(m)}" for m in dict.fromkeys(methods))


def comparable(record):
    return "own_objective" in record and "objective" in record


def middle(records, key):
    """Return the median over runs, by section if there are sections; None where there is nothing."""
    if key == "seconds":
        return {name: median(r[key][name] for r in records) for name in records[0][key]}
    values = [r[key] for r in records if r.get(key) is not None]
    return median(values) if values else None


def stopped(records):
    return " (time)" if any(r.get("stopped_by") == "max_time" for r in records) else ""


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(header, rows):
    align = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, align, *rows])


def footer(results):
    where = results["machine"]
    kernels = sorted({r["simd"] for r in results["records"]})
    loads = [r["load"] for r in results["records"]]
    lines = [
        f"Kernels: {', '.join(kernels)}. Medians of CPU seconds (user and system) of one thread over up to 3 runs, "
        "other draws each where a method draws; a run over 20 s is made once.",
        f"Processor: {where['processor']} ({', '.join(where['instruction_sets'])}), {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}, load {min(loads):.1f} to {max(loads):.1f} during the runs.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
        *(f"Made by `{command}`." for command in results["commands"]),
    ]
    return "\n".join(f"- {line}" for line in lines)
