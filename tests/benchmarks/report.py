"""Convert the records of a run to Markdown tables."""

from statistics import median

PEERS = ("pybnesian", "pyagrum", "pgmpy")
NONE = "-"


def progress(record):
    """Return one line for the terminal."""
    learn = record.get("learn")
    time = record["status"] if learn is None else f"learn {learn:.4g} s, end to end {record['end_to_end']:.4g} s"
    score = f", score {record['score']:.1f}, {record['n_edges']} edges" if "score" in record else ""
    error = f" ({record['error'].strip().splitlines()[-1]})" if record.get("error") else ""
    return f"{record['network']} {record['rows']} seed {record['seed']} {record['solver']}: {time}{score}{error}"


def markdown(results):
    """Return the tables: both clocks with ratios, quality, memory; then what they were made with."""
    groups = _groups(results["records"])
    peers = [s for s in PEERS if any(s in group for group in groups.values())]
    limit = results["timeout"]
    kernels = sorted({r["kernel"] for r in results["records"] if r.get("kernel")})
    seeds = {r["seed"] for r in results["records"]}
    parts = [
        f"pgmx kernels: {', '.join(kernels) or 'not run'}. Medians over {len(seeds)} column order(s); "
        "ratio = peer / pgmx on the same column order.",
        "**Learning call on the tool's own loaded data, user-CPU seconds**",
        _time_table(groups, peers, "learn", limit),
        "**End to end, from a pandas frame of category columns in memory to the graph, user-CPU seconds**",
        _time_table(groups, peers, "end_to_end", limit),
        "**Quality: BIC of the DAGs by one outside scorer (higher is better)**",
        _quality_table(groups, peers, results["problems"]),
        "**Memory: peak over the loaded frame during the end-to-end call, MiB**",
        _memory_table(groups, peers, results["problems"]),
        _footer(results),
    ]
    return "\n\n".join(parts)


def _groups(records):
    """Return {(network, rows): {solver: [records, one a seed]}} in the order of the run."""
    groups = {}
    for record in records:
        group = groups.setdefault((record["network"], record["rows"]), {})
        group.setdefault(record["solver"], []).append(record)
    return groups


def _table(header, rows):
    align = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, align, *rows])


def _time_table(groups, peers, clock, limit):
    header = ["network", "rows", "pgmx"] + [cell for peer in peers for cell in (peer, "ratio")]
    rows = []
    for (network, n_rows), group in groups.items():
        ours = {r["seed"]: r.get(clock) for r in group.get("pgmx", ())}
        cells = [network, f"{n_rows:,}", _seconds(group.get("pgmx", ()), clock, limit)]
        for peer in peers:
            records = group.get(peer, ())
            cells += [_seconds(records, clock, limit), _ratio(records, ours, clock, limit)]
        rows.append(cells)
    return _table(header, rows)


def _seconds(records, clock, limit):
    if any(r["status"] == "timeout" and clock not in r for r in records):
        return f"> {limit:g}" + (" *" if all("error" in r for r in records) else "")
    values = [r[clock] for r in records if clock in r]
    return _digits(median(values)) if values else NONE


def _ratio(records, ours, clock, limit):
    over = any(r["status"] == "timeout" and clock not in r for r in records)
    pairs = [(limit if over else r.get(clock), ours.get(r["seed"])) for r in records]
    ratios = [theirs / mine for theirs, mine in pairs if theirs and mine]
    return ("> " if over else "") + f"{_digits(median(ratios))}x" if ratios else NONE


def _digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _quality_table(groups, peers, problems):
    header = ["network", "rows", "pgmx", "edges", *peers, "pgmx - best peer, median (worst .. best)", "true graph"]
    rows = []
    for (network, n_rows), group in groups.items():
        scores = {s: {r["seed"]: r["score"] for r in records if "score" in r} for s, records in group.items()}
        ours = scores.get("pgmx", {})
        gaps = []
        for seed, mine in ours.items():
            theirs = [scores[peer][seed] for peer in peers if seed in scores.get(peer, {})]
            if theirs:
                gaps.append(mine - max(theirs))
        gap = f"{median(gaps):+,.1f} ({min(gaps):+,.1f} .. {max(gaps):+,.1f})" if gaps else NONE
        edges = [r["n_edges"] for r in group.get("pgmx", ()) if "n_edges" in r]
        truth = next(p["true_score"] for key, p in problems.items() if key.startswith(f"{network}-{n_rows}-"))
        row = [network, f"{n_rows:,}", _score(ours), f"{median(edges):g}" if edges else NONE]
        rows.append([*row, *(_score(scores.get(peer, {})) for peer in peers), gap, f"{truth:,.1f}"])
    return _table(header, rows)


def _score(by_seed):
    return f"{median(by_seed.values()):,.1f}" if by_seed else NONE


def _memory_table(groups, peers, problems):
    rows = []
    for (network, n_rows), group in groups.items():
        facts = next(p for key, p in problems.items() if key.startswith(f"{network}-{n_rows}-"))
        cells = [network, f"{n_rows:,}", f"{facts['codes_and_planes_mib']:.1f}"]
        for solver in ("pgmx", *peers):
            grown = [r["peak_mib"] - r["frame_mib"] for r in group.get(solver, ()) if "peak_mib" in r]
            cells.append(f"{max(grown):.1f}" if grown else NONE)
        rows.append(cells)
    return _table(["network", "rows", "codes + planes", "pgmx", *peers], rows)


def _footer(results):
    machine, records = results["machine"], results["records"]
    gaps = [abs(r["own_score"] / r["score"] - 1) for r in records if r.get("own_score") and "score" in r]
    lines = [
        f"Processor: {machine['processor']} ({', '.join(machine['instruction_sets'])}), {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}, load {machine['load_at_start']} at the start.",
        "Versions: " + ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
        f"Made by `{results['command']}`.",
    ]
    if gaps:
        lines.append(f"The tools' own scores differ from the outside scorer's by at most {max(gaps):.0e} (relative).")
    if any(r["status"] == "timeout" for r in records):
        lines.append(
            f"`> {results['timeout']:g}`: ended at the limit; with `*` not run, since the tool had passed the limit on "
            "the same network with as many rows or fewer."
        )
    lines += [f"FAILED: {progress(r)}" for r in records if r["status"] == "failed"]
    lines += [
        f"Two graphs for one input: {r['solver']} on {r['network']}, {r['rows']} rows, seed {r['seed']}."
        for r in records
        if r.get("same_graph") is False
    ]
    return "\n".join(f"- {line}" for line in lines)
