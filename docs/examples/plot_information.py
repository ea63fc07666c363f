"""
What to observe next
====================

How much would each measurement tell about a diagnosis? The information of all variables about a target takes a single
question, and it changes with every observation.
"""

from matplotlib.figure import Figure

from pgmx.datasets import load_network
from pgmx.inference import CompiledNetwork, mutual_information

network = CompiledNetwork(load_network("alarm"))
target = "INTUBATION"  # normal, in the oesophagus, or in one lung
monitors = ["EXPCO2", "MINVOL", "PRESS", "SAO2", "MINVOLSET", "PAP"]
before = mutual_information(network, target, variables=monitors)
print(before.round(4))

# %%
# The ventilation per minute (MINVOL) is the best first measurement. Once the pressure is known to be high, the carbon
# dioxide of the breath (EXPCO2) tells more. The setting of the ventilator (MINVOLSET) is independent of the target
# until one of their common effects is observed.
after = mutual_information(network, target, {"PRESS": "HIGH"}, [name for name in monitors if name != "PRESS"])
print(after.round(4))

figure = Figure(figsize=(6.5, 3.2), layout="constrained")
axes = figure.subplots()
rows = range(len(before))
axes.barh([row - 0.2 for row in rows], before, height=0.38, label="nothing observed")
axes.barh([row + 0.2 for row in rows], after.reindex(before.index), height=0.38, label="given PRESS = HIGH")
axes.set_yticks(rows, before.index)
axes.invert_yaxis()
axes.set_xlabel(f"information about {target} (nats)")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower right")
