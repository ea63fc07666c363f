"""Labels of long names: cut at the end, and in the middle if several begin alike."""

import networkx as nx

from pgmx.plotting import plot_graph
from pgmx.plotting.labels import shorten_names

QUESTIONS = [f"Q12. How often in the last month did you: {what}" for what in ("walk", "swim", "ride a bicycle")]


def test_names_with_the_same_beginning_differ():
    labels = shorten_names([*QUESTIONS, "age", "a name that is longer than others"], 18)
    assert len(set(labels)) == 5
    assert all(len(label) <= 18 for label in labels)
    assert labels[0].startswith("Q12. How") and labels[0].endswith("you: walk")
    assert labels[3:] == ["age", "a name that is lo…"]


def test_nodes_of_a_picture_are_told_apart():
    ax = plot_graph(nx.DiGraph([QUESTIONS[:2], QUESTIONS[1:]]))
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert sum(text.endswith("walk") for text in texts) == sum(text.endswith("swim") for text in texts) == 1
