"""Names written for network files."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.models.files.formats import decode, encode, encode_distinct_texts

# Texts full of what matters: underscores, x, hexadecimal digits, capitals, escapes and the reader's keywords.
near_escapes = st.lists(
    st.sampled_from(
        ["_", "x", "X", "0020", "5f", "empty", "_xempty_", "_x0020_", " ", "A", "table", "default", "9", "é"]
    ),
    max_size=8,
).map("".join)
texts = st.text(max_size=12) | near_escapes
marks = st.sampled_from([frozenset(), frozenset("-.")])


@given(texts, marks, st.booleans())
def test_round_trip(text, extra, lower):
    written = encode(text, extra, lower=lower)
    assert decode(written) == text
    assert re.fullmatch("[A-Za-z0-9_]+", written) or (extra and re.fullmatch("[A-Za-z0-9_.-]+", written))


@given(texts)
def test_in_lower_case_nothing_is_lost(text):
    assert decode(encode(text, lower=True).lower()) == text


@given(st.lists(texts, unique=True), marks, st.booleans())
def test_names_stay_apart(names, extra, ignore_case):
    written = list(encode_distinct_texts(names, "names", extra, ignore_case=ignore_case).values())
    assert len(set(written)) == len(names)
    if ignore_case:
        assert len({text.lower() for text in written}) == len(names)


@pytest.mark.parametrize("name", ["age", "Age_2", "x_x", "a_x20_b", "vegetable", "_x_", "_x12"])
def test_plain_names_stand_as_they_are(name):
    assert encode(name) == name


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a b", "a_x0020_b"),
        (">50K", "_x003e_50K"),
        ("", "_xempty_"),
        ("_xempty_", "_x005f_xempty_"),
        ("table5", "_x0074_able5"),
        ("\U0001f327", "_x1f327_"),
    ],
)
def test_escapes(name, written):
    assert encode(name) == written


def test_escapes_of_others_beyond_unicode_are_left():
    assert decode("_x110000_") == "_x110000_"


def test_only_names_that_differ_by_case_lose_their_capitals():
    assert encode_distinct_texts(["Age", "age", "Sex"], "names", ignore_case=True) == {
        "Age": "_x0041_ge",
        "age": "age",
        "Sex": "Sex",
    }


def test_equal_texts_are_refused():
    with pytest.raises(ValueError, match="states of 'v': 1 and '1' are both written as '1'"):
        encode_distinct_texts([0, 1, "1"], "states of 'v'")
