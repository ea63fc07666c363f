"""Sums over the partitions of a table: every order of the partitions leads to one tree of additions."""

import itertools

import pytest

from pgmx.data.distributed.remote_partitions import Summation, add_sums


def add_pair(pair):
    """Return an addition that remembers its order."""
    return f"({pair[0]}+{pair[1]})"


EXPECTED = {
    1: "0",
    2: "(0+1)",
    3: "((0+1)+2)",
    4: "((0+1)+(2+3))",
    5: "(((0+1)+(2+3))+4)",
    6: "(((0+1)+(2+3))+(4+5))",
}


@pytest.mark.parametrize("n_parts", EXPECTED)
def test_additions_do_not_depend_on_the_order_of_answers(n_parts):
    summation = Summation(add_pair, n_parts)
    for order in itertools.permutations(range(n_parts)):
        sums = {}
        for number in order:
            sums[0, number] = str(number)
            summation.reduce(sums)
        assert sums == {summation.root: EXPECTED[n_parts]}


@pytest.mark.parametrize("n_first", range(6))
def test_answers_of_two_workers_add_up_to_the_same(n_first):
    summation = Summation(add_pair, 6)
    for first in itertools.combinations(range(6), n_first):
        answers = []
        for numbers in (first, sorted(set(range(6)) - set(first))):
            sums = {(0, number): str(number) for number in numbers}
            summation.reduce(sums)
            answers.append(sums)
        assert add_sums(answers, summation) == {summation.root: EXPECTED[6]}
