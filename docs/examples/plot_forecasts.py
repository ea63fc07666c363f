"""
Forecasts of a panel and their reliability
==========================================

Learn a dynamic Bayesian network from the visits of 300 patients, forecast three visits of 300 others, and compare the
forecasts with what happened. Forecasts are reliable if high pressure follows in 30 % of the cases in which its
probability was 0.3.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pgmx.estimators import DynamicBayesianNetworkSearch

rng = np.random.default_rng(0)
GROWTH = np.array([[0.85, 0.12, 0.03], [0.2, 0.6, 0.2], [0.05, 0.25, 0.7]])  # of the pressure, without the drug
RELIEF = np.array([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.3, 0.5, 0.2]])  # by the drug
TREATED = np.array([[0.05, 0.25, 0.8], [0.6, 0.85, 0.97]])  # by the drug before, and by the pressure


def draw_patients(n_patients, n_visits):
    """Return visits of patients: pressure, and a drug that is given for high pressure and lowers it."""
    pressure, drug = rng.choice(3, n_patients, p=[0.45, 0.35, 0.2]), np.zeros(n_patients, dtype=int)
    visits = []
    for visit in range(n_visits):
        visits.append(pd.DataFrame({"patient": range(n_patients), "visit": visit, "pressure": pressure, "drug": drug}))
        shares = np.where(drug[:, None] == 1, (GROWTH @ RELIEF)[pressure], GROWTH[pressure])
        drug = (rng.random(n_patients) < TREATED[drug, pressure]).astype(int)
        pressure = (rng.random((n_patients, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return pd.concat(visits).sort_values(["patient", "visit"], ignore_index=True)


learned, held_out = draw_patients(300, 8), draw_patients(300, 8)
search = DynamicBayesianNetworkSearch(groups="patient", time_column="visit").fit(learned)
print(search.graph_.lagged_edges)
known, later = held_out[held_out["visit"] < 5], held_out[held_out["visit"] >= 5]
forecast = search.model_.forecast(known, steps=3).values["pressure"].to_numpy()

happened = np.eye(3)[later["pressure"].to_numpy()]
last = known.groupby("patient")["pressure"].last().to_numpy()
others = {
    "forecast": forecast,
    "marginals": np.tile(learned["pressure"].value_counts(normalize=True).sort_index(), (len(later), 1)),
    "persistence": np.eye(3)[np.repeat(last, 3)],
}
brier = {name: float(((shares - happened) ** 2).sum(axis=1).mean()) for name, shares in others.items()}
print({name: round(value, 3) for name, value in brier.items()})
assert brier["forecast"] < min(brier["marginals"], brier["persistence"])

# probabilities of all states, in ten groups of equal size
shares, came = forecast.ravel(), happened.ravel()
groups = np.array_split(np.argsort(shares, kind="stable"), 10)
means, rates = (np.array([values[group].mean() for group in groups]) for values in (shares, came))
errors = np.array([came[group].std() / np.sqrt(len(group)) for group in groups])
figure, axes = plt.subplots(figsize=(4.5, 4.5))
axes.plot([0, 1], [0, 1], color="0.7")
axes.errorbar(means, rates, yerr=2 * errors, fmt="o")
axes.set(xlabel="probability in the forecast", ylabel="share of cases in which the state came", title="Pressure")
