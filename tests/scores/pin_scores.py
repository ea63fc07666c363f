"""Script: print the figures of ``test_pinned_scores.py`` from pgmpy and pyagrum.

Run ``python tests/scores/pin_scores.py`` with pgmpy 1.1.2 and pyagrum 3.3.1 (extra ``bench``). The tables need no
random numbers. BDs and the Gaussian scores are pgmpy's alone; all configurations occur, where its BDs is right. pyagrum
scores in bits, converted to nats here. Its LL and BIC agree with pgmpy's to the last digits. Its K2 and BDeu sum an
approximation of log-gamma and agree to 7 digits, BDeu (equivalent sample size 1) for a variable without parents only;
its AIC charges a bit and not a nat for each parameter. Those that differ are not pinned from it.
"""

FAMILIES = [("A", ()), ("B", ("A",)), ("D", ("A", "C")), ("C", ("A", "B", "D"))]


def rows():
    """Return 240 rows of four dependent variables of 2, 3, 2 and 4 states; all 48 combinations occur."""
    return [
        (i * i // 3 % 2, (i * i // 3 + i // 5) % 3, (i // 2 + i * i // 7) % 2, (i * 7 // 4 + i * i // 11) % 4)
        for i in range(240)
    ]


def numbers():
    """Return 240 rows of four dependent numbers of unlike size."""
    found = []
    for i in range(240):
        a, b = (i * i % 97) / 10, (i * 31 % 113) / 7
        found.append((a, 100 * a - b * b, 0.01 * (i * i * i % 89) + 5, a * 0.3 + b - (i % 17)))
    return found


def main():
    import math
    import warnings

    import pandas as pd
    import pyagrum
    from pgmpy import structure_score

    warnings.simplefilter("ignore")
    frame = pd.DataFrame(rows(), columns=list("ABCD")).astype(str)
    options = {"BDeu": {"equivalent_sample_size": 1}}
    bds = structure_score.BDs(frame.astype("category"), equivalent_sample_size=1)
    print("BDs", [float(bds.local_score(*family)) for family in FAMILIES])
    gaussian = pd.DataFrame(numbers(), columns=list("ABCD"))
    for name in ("LogLikelihoodGauss", "AICGauss", "BICGauss"):
        score = getattr(structure_score, name)(gaussian)
        print(name, [float(score.local_score(*family)) for family in FAMILIES])
    for name in ("LogLikelihood", "AIC", "BIC", "K2", "BDeu"):
        score = getattr(structure_score, name)(frame.astype("category"), **options.get(name, {}))
        learner = pyagrum.BNLearner(frame)
        learner.useNoPrior()
        getattr(learner, "useScore" + {"LogLikelihood": "Log2Likelihood"}.get(name, name))()
        for child, parents in FAMILIES:
            theirs = learner.score(child, list(parents)) * math.log(2)
            pgmpy = float(score.local_score(child, parents))
            print(f"{name:14} {child} {parents!s:16} pgmpy {pgmpy!r} pyagrum {theirs!r}")


if __name__ == "__main__":
    main()
