"""Lists of names that are repeated, integers under scores for continuous variables, and a closed pipe."""

import errno

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, pgmx, refused
from pgmx.models import ConditionalGaussianNetwork, read_model


@pytest.fixture
def numbers(workdir):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, 200)
    income = 100 * age + rng.integers(0, 500, 200)
    table = pd.DataFrame({"age": age, "income": income, "savings": income // 10 + rng.integers(0, 50, 200)})
    table.to_csv("numbers.csv", index=False)
    return table


def test_repeated_lists_are_joined(weather):
    names = list(pd.read_csv(weather).columns)
    chosen = done("learn", weather, "--columns", names[0], "--columns", ",".join(names[1:3]), "--quiet")
    assert ", 3 variables" in chosen
    left = done("learn", weather, "--drop", names[0], "--drop", names[1], "--quiet")
    assert f", {len(names) - 2} variables" in left
    roots = refused("learn", weather, "--roots", "first", "--roots", names[0])
    assert "first" in roots


@pytest.mark.parametrize("options", ["--score bic-g", "--score bge", "--method chow-liu --score ll-g"])
def test_integers_are_continuous_if_the_score_is_for_continuous_variables(numbers, options):
    printed = done("learn", "numbers.csv", *options.split(), "--out", "whole.json")
    assert "integers 'age', 'income', 'savings': continuous variables" in printed and "left out" not in printed
    numbers.astype(float).to_csv("floats.csv", index=False)
    alike = done("learn", "floats.csv", *options.split(), "--out", "floats.json")
    assert "integers" not in alike
    score = next(line for line in alike.splitlines() if line.startswith("score"))
    assert score in printed
    whole, floats = (
        ConditionalGaussianNetwork.from_network(read_model(f"{name}.json")) for name in ("whole", "floats")
    )
    rows = numbers.astype(float)
    assert np.array_equal(whole.log_evidence(rows), floats.log_evidence(rows))


def test_conditional_gaussian_scores_treat_integers_as_states(numbers):
    (numbers // 600).to_csv("coarse.csv", index=False)
    printed = done("learn", "coarse.csv", "--score", "bic-cg", "--out", "coarse.bif")
    assert "left out" not in printed
    assert read_model("coarse.bif").list_states()["savings"] == ("0", "1")


def test_files_are_written_although_the_reader_of_the_output_has_gone(numbers, monkeypatch):
    printed = []

    def close_after_two_lines(text, err=False):
        if len(printed) == 2:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        printed.append(text)

    monkeypatch.setattr("pgmx.cli.console.click.echo", close_after_two_lines)
    ended = pgmx("learn", "numbers.csv", "--score", "bic-g", "--out", "network.json")
    assert (ended.exit_code, ended.stderr, len(printed)) == (1, "", 2)
    assert len(read_model("network.json")) == 3


def test_integers_are_scored_as_the_continuous_variables_of_a_network(numbers):
    done("learn", "numbers.csv", "--score", "bic-g", "--out", "network.json")
    numbers.astype(float).to_csv("floats.csv", index=False)
    whole, floats = (done("score", "network.json", f"{name}.csv").splitlines() for name in ("numbers", "floats"))
    assert whole[1:] == floats[1:] and any("(bic-g" in line for line in whole)


def test_a_page_of_another_suffix_is_refused_by_its_option(numbers):
    assert "Error: --out page: a report is" in refused("show", "asia", "--out", "page")
