"""Convert the records of gaussian.py to Markdown tables."""

from markov_report import table

TITLES = {
    "glasso": "Graphical lasso, one penalty: sqrt(log p / n)",
    "glasso dense": "Graphical lasso, an edge for every tenth pair: .6 sqrt(log p / n)",
    "glasso large": "Graphical lasso of columns of an AR(5) sequence, from the covariance: 2.4 sqrt(log p / n)",
    "glasso path": "Graphical lasso, path of 10 penalties: 2.5 to 0.75 sqrt(log p / n)",
    "clime": "CLIME, one penalty: 1.5 sqrt(log p / n), of S + I / sqrt(n)",
    "clime, 10 columns": "CLIME, the same, 10 columns alone",
    "clime path": "CLIME, path of 10 penalties: 4 to 1 sqrt(log p / n), of S + I / sqrt(n)",
    "dense": "CLIME where solutions are dense: er-500-1000, 32 columns, one penalty",
    "neighborhood": "Neighbourhood lasso, one penalty: sqrt(log p / n)",
    "neighborhood path": "Neighbourhood lasso, path of 10 penalties: 2.5 to 0.75 sqrt(log p / n)",
}
OURS = {"glasso": "pgmx", "clime": "pgmx auto", "neighborhood": "pgmx"}


def progress(record):
    """Return one line for the terminal."""
    text = f"{record['suite']} {record['problem']} {record['method']} {record['status']}: {seconds(record)} s"
    for judged in record.get("judged", [])[-1:]:
        text += " " + " ".join(f"{key} {value:.4g}" for key, value in judged.items() if value is not None)
    return text + (" " + record["error"].strip().splitlines()[-1] if record.get("error") else "")


def markdown(results):
    """Return all tables, suite by suite."""
    parts = []
    for suite, title in TITLES.items():
        chosen = [r for r in results["records"] if r["suite"] == suite]
        if not chosen:
            continue
        parts.append(f"### {title}")
        if suite == "dense":
            parts.append(dense_table(chosen))
            continue
        compared = {r["problem"] for r in chosen if not r["method"].startswith("pgmx")}
        if suite == "clime path":
            compared |= {r["problem"] for r in chosen if r["method"] != "pgmx auto"}
        parts.append(method_table([r for r in chosen if r["problem"] in compared], suite))
        parts.append(own_table([r for r in chosen if r["problem"] not in compared], suite))
    parts.append(footer(results))
    return "\n\n".join(part for part in parts if part)


def in_order(records):
    """Return records problem by problem, as they were first met."""
    problems = list(dict.fromkeys(r["problem"] for r in records))
    return sorted(records, key=lambda r: problems.index(r["problem"]))


def method_table(records, suite):
    """Return one row per method and problem, its time compared with pgmx."""
    if not records:
        return ""
    task = records[0]["task"]
    ours = {r["problem"]: r["seconds"] for r in records if r["method"] == OURS[task] and "seconds" in r}
    header, cells = columns_of(task)
    if task == "glasso":
        mark_best(records)
    products = any("product" in r for r in records)
    header = ["problem", "method", "CPU s", "/ pgmx", *(["/ p x p product"] if products else []), *header]
    rows = []
    for record in in_order(records):
        own = ours.get(record["problem"])
        row = [record["problem"], record["method"], seconds(record), ratio(record, own)]
        row += [f"{record['seconds'] / record['product']:.1f}" if "product" in record else ""] if products else []
        rows.append(row + cells(record))
    return table(header, rows)


def own_table(records, suite):
    """Return one row a problem that pgmx alone solved."""
    if not records:
        return ""
    header, cells = columns_of(records[0]["task"])
    methods = list(dict.fromkeys(r["method"] for r in records))
    told = [m for m in methods if m != "pgmx from rows"]
    rows = []
    for problem in dict.fromkeys(r["problem"] for r in in_order(records)):
        mine = {r["method"]: r for r in records if r["problem"] == problem}
        row = [problem, *(seconds(mine[m]) if m in mine else "" for m in methods)]
        product = [r for r in mine.values() if "product" in r]
        row.append(f"{product[0]['seconds'] / product[0]['product']:.1f}" if product else "")
        rows.append(row + cells(next(mine[m] for m in told if m in mine)))
    header = ["problem", *(f"{m}, CPU s" for m in methods), "/ p x p product", *header]
    if not any(row[1 + len(methods)] for row in rows):
        rows = [row[: 1 + len(methods)] + row[2 + len(methods) :] for row in rows]
        header.remove("/ p x p product")
    return table(header, rows)


def dense_table(records):
    """Return milliseconds a column for each solver and penalty."""
    rows = []
    for multiple in dict.fromkeys(r["multiples"][0] for r in records):
        mine = {r["method"].split()[-1]: r for r in records if r["multiples"][0] == multiple}
        row = [f"{multiple:g}"]
        count = next(iter(mine.values()))["columns"]
        judged = [r["judged"][0] for r in mine.values() if r.get("judged")]
        row.append(f"{judged[0]['nonzeros']:.0f}" if judged else "")
        for method in ("homotopy", "admm", "auto"):
            row.append(seconds(mine[method], 1e3 / count) if method in mine else "")
        spent = [mine[m].get("seconds") if m in mine else None for m in ("auto", "admm")]
        row.append(f"{spent[0] / spent[1]:.2f}" if all(spent) else "")
        for method in ("homotopy", "admm", "auto"):
            own = mine[method].get("judged") if method in mine else None
            row.append(f"{own[0]['excess']:.0e}" if own else "")
        sizes = [one["objective"] for one in judged]
        row.append(f"{max(sizes) / min(sizes) - 1:.0e}" if sizes else "")
        rows.append(row)
    header = ["penalty / sqrt(log p / n)", "non-zeros a column", "homotopy, ms a column", "admm", "auto", "auto / admm"]
    header += ["excess: homotopy", "admm", "auto", "spread of sum \\|q\\|"]
    return table(header, rows)


def columns_of(task):
    """Return the judge's columns: header, and what makes the cells of a record."""
    if task == "glasso":
        return [
            "objective",
            "above the best",
            "relative gap",
            "sweeps",
            "max \\|ΘW - I\\|",
            "edges",
            "F1",
        ], glasso_cells
    if task == "clime":
        return ["sum \\|q\\|", "excess", "non-zeros a column", "F1"], clime_cells
    return ["objective", "largest gap of a column", "edges (and)", "F1"], neighborhood_cells


def mark_best(records):
    """Note how far the last objective of each record is above the best one of its problem, relative to it."""
    best = {}
    for record in records:
        value = record["judged"][-1]["objective"] if record.get("judged") else None
        if value is not None:
            best[record["problem"]] = min(value, best.get(record["problem"], value))
    for record in records:
        value = record["judged"][-1]["objective"] if record.get("judged") else None
        if value is not None:
            record["above"] = (value - best[record["problem"]]) / abs(best[record["problem"]])


def glasso_cells(record):
    judged = record.get("judged")
    if not judged:
        return [""] * 7
    gaps = [one["gap"] for one in judged]
    errors = [one["inverse_error"] for one in judged if "inverse_error" in one]
    return [
        "not positive definite" if judged[-1]["objective"] is None else f"{judged[-1]['objective']:.4f}",
        f"{record['above']:.0e}" if "above" in record else "",
        "-" if None in gaps else f"{max(gaps):.1e}",
        str(record.get("iterations") or ""),
        f"{max(errors):.0e}" if errors else "",
        *edges_cells(judged),
    ]


def clime_cells(record):
    judged = record.get("judged")
    if not judged:
        return [""] * 4
    *_, scores = edges_cells(judged) if "f1" in judged[0] else [""]
    last = judged[-1]
    excess = max(one["excess"] for one in judged)
    return [f"{last['objective']:.6f}", f"{excess:.0e}", f"{last['nonzeros']:.1f}", scores]


def neighborhood_cells(record):
    judged = record.get("judged")
    if not judged:
        return [""] * 4
    return [f"{judged[-1]['objective']:.6f}", f"{max(one['gap'] for one in judged):.1e}", *edges_cells(judged)]


def edges_cells(judged):
    """Return edges and F1 at the last penalty, with the best F1 of a path."""
    score = f"{judged[-1]['f1']:.3f}"
    if len(judged) > 1:
        score += f" (best {max(one['f1'] for one in judged):.3f})"
    return [f"{judged[-1]['edges']:,}", score]


def seconds(record, factor=1.0):
    """Return the time in words."""
    if "seconds" not in record:
        return f"> {record['limit'] * factor:,.0f}" if record["status"] == "limit" else record["status"]
    value = record["seconds"] * factor
    told = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return told + (" (failed after)" if record["status"] == "failed" else "")


def ratio(record, ours):
    if ours is None:
        return ""
    if "seconds" not in record:
        return f"> {record['limit'] / ours:,.0f}" if record["status"] == "limit" else ""
    value = record["seconds"] / ours
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def footer(results):
    """Return what the figures depend on."""
    where = results["machine"]
    loads = [r["load"] for r in results["records"] if "load" in r]
    lines = [
        "Medians of user-CPU seconds, one thread. Of a path the last penalty's objective, edges and F1 are listed, and "
        "the largest gap, excess and |ΘW - I| of all.",
        "Above the best: the objective minus the least that any method found, relative to it, for the last penalty."
        " The gap bounds it from above, mostly by far: its dual point is only as good as the inverse.",
        f"Processor: {where['processor']} ({', '.join(where['instruction_sets'])}), {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}"
        + (f", load {min(loads):.1f} to {max(loads):.1f} before the runs." if loads else "."),
        "Versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
        *(f"Made by `{command}`." for command in results["commands"]),
    ]
    return "\n".join(f"- {line}" for line in lines)
