"""
Mixed data: discrete and continuous variables
=============================================

Learn a conditional linear Gaussian network of the iris flowers, and predict the species from two lengths.
"""

from pgmx.datasets import load_example
from pgmx.estimators import HillClimbSearch
from pgmx.plotting import plot_graph

frame = load_example("iris")
search = HillClimbSearch(discrete_children="forbidden").fit(frame)
given = frame[["petal length (cm)", "sepal length (cm)"]]
guess = search.model_.predict(given)["species"]
print(f"{(guess.astype(str) == frame['species'].astype(str)).mean():.1%} of the predicted species are correct")
picture = plot_graph(search.dag_)
