"""Small real tables for each kind of learner; they ship with scikit-learn and statsmodels, which pgmpy requires."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from pgmx.lookup import suggest

if TYPE_CHECKING:
    import pandas as pd


class Example(NamedTuple):
    """Description of a table of :func:`load_example`.

    Attributes
    ----------
    kind : {"states", "floats", "mixed", "series"}
        Kind of its columns: discrete, continuous, both, or a time series.
    n_rows, n_columns : int
        Shape of the table.
    story, source, licence : str
        A description of the data, their source, and their licence.
    """

    kind: str
    n_rows: int
    n_columns: int
    story: str
    source: str
    licence: str


_UCI = "Creative Commons Attribution 4.0 (UCI Machine Learning Repository)"
_PUBLIC = "public domain"

_EXAMPLES = {
    "affairs": Example(
        "states",
        6366,
        9,
        "Answers of 6,366 married women to a survey of Redbook magazine in 1974: their marriage, family, religion, "
        "education and work, and whether they had an affair.",
        "R. Fair (1978), A theory of extramarital affairs, Journal of Political Economy 86; statsmodels.datasets.fair",
        "included in statsmodels with permission of the author",
    ),
    "breast_cancer": Example(
        "mixed",
        569,
        31,
        "Shape and texture of cell nuclei in images of 569 breast masses: mean, standard error and worst of ten "
        "measures, and the diagnosis.",
        "W. Wolberg, O. Mangasarian, N. Street, W. Street (1995), Breast Cancer Wisconsin (Diagnostic); "
        "sklearn.datasets",
        _UCI,
    ),
    "crime": Example(
        "floats",
        51,
        7,
        "Rates of violent crime and murder in the states of the USA in 2009, with schooling, poverty, single parents "
        "and the share of people in cities.",
        "American Statistical Abstracts of 2009; statsmodels.datasets.statecrime",
        _PUBLIC,
    ),
    "diabetes": Example(
        "floats",
        442,
        10,
        "Age, body mass, blood pressure and six blood serum measures of 442 patients with diabetes, and the "
        "progression of the disease after one year.",
        "B. Efron, T. Hastie, I. Johnstone, R. Tibshirani (2004), Least angle regression, Annals of Statistics 32; "
        "sklearn.datasets",
        "BSD 3-clause, as scikit-learn",
    ),
    "economy": Example(
        "series",
        203,
        12,
        "Gross domestic product, consumption, investment, prices, money, interest and unemployment of the USA, by "
        "quarter, 1959 to 2009.",
        "Federal Reserve Bank of St. Louis and National Bureau of Labor Statistics; statsmodels.datasets.macrodata",
        _PUBLIC,
    ),
    "election": Example(
        "mixed",
        944,
        10,
        "Voters before the presidential election of 1996 in the USA: political position of themselves and of the "
        "candidates from left to right, party, news, age, education, income and vote.",
        "American National Election Studies (1996); statsmodels.datasets.anes96",
        _PUBLIC,
    ),
    "iris": Example(
        "mixed",
        150,
        5,
        "Length and width of sepals and petals of 150 irises of three species.",
        "R. Fisher (1936), The use of multiple measurements in taxonomic problems; sklearn.datasets",
        _UCI,
    ),
    "sea_temperature": Example(
        "series",
        732,
        1,
        "Temperature of the sea off Peru (Niño 1+2) in degrees Celsius, by month, 1950 to 2010.",
        "National Oceanic and Atmospheric Administration, ERSST.V3B; statsmodels.datasets.elnino",
        _PUBLIC,
    ),
    "visits": Example(
        "mixed",
        20190,
        7,
        "Visits to a doctor, insurance, income and health of families in the RAND health insurance experiment, 1974 "
        "to 1982.",
        "RAND Corporation; A. Cameron, P. Trivedi (2005), Microeconometrics; statsmodels.datasets.randhie",
        _PUBLIC,
    ),
    "wine": Example(
        "mixed",
        178,
        14,
        "Chemical analysis of 178 wines of one region of Italy, made of three kinds of grapes.",
        "S. Aeberhard, M. Forina (1992), Wine; sklearn.datasets",
        _UCI,
    ),
}


def list_examples() -> dict[str, Example]:
    """List the tables that :func:`load_example` can read, with their shape, story, source and licence.

    Returns
    -------
    dict of Example by str
        In alphabetical order of the names.

    Examples
    --------
    >>> from pgmx.datasets import list_examples
    >>> [name for name, example in list_examples().items() if example.kind == "mixed"]
    ['breast_cancer', 'election', 'iris', 'visits', 'wine']
    >>> list_examples()["iris"].story
    'Length and width of sepals and petals of 150 irises of three species.'
    """
    return dict(_EXAMPLES)


def load_example(name: str) -> pd.DataFrame:
    """Read a small real table; nothing is downloaded.

    Parameters
    ----------
    name : str
        One of :func:`list_examples`.

    Returns
    -------
    pandas.DataFrame
        Discrete variables have category dtype, with readable labels if the source has them. Continuous variables have
        float64. Rows of a series are in the order of time. ``frame.attrs`` holds the story, the source and the licence.

    Raises
    ------
    TypeError, ValueError
        If `name` is not a string, or not the name of a table; the message lists the tables.

    Examples
    --------
    >>> from pgmx.datasets import load_example
    >>> frame = load_example("iris")
    >>> frame["species"].cat.categories.tolist()
    ['setosa', 'versicolor', 'virginica']
    >>> frame.attrs["licence"]
    'Creative Commons Attribution 4.0 (UCI Machine Learning Repository)'
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string such as 'iris', got {type(name).__name__}")
    if name not in _EXAMPLES:
        raise ValueError(f"no example is called {name!r}{suggest(name, _EXAMPLES)}; there are: {', '.join(_EXAMPLES)}")
    frame = _READERS[name]()
    example = _EXAMPLES[name]
    frame.attrs.update(story=example.story, source=example.source, licence=example.licence)
    return frame


def _read_statsmodels(name: str) -> pd.DataFrame:
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data.copy()


def _read_classes(loader: str, target: str) -> pd.DataFrame:
    """Return a table of scikit-learn with its classes as the last column."""
    import pandas as pd

    bunch = getattr(import_module("sklearn.datasets"), loader)(as_frame=True)
    frame = bunch.data.astype(float)
    frame[target] = pd.Categorical.from_codes(bunch.target, list(map(str, bunch.target_names)))
    return frame


def _name_states(frame: pd.DataFrame, labels: dict[str, dict]) -> pd.DataFrame:
    """Replace the codes of columns by ordered categories."""
    import pandas as pd

    for column, names in labels.items():
        values = [names[value] for value in frame[column]]
        frame[column] = pd.Categorical(values, list(dict.fromkeys(names.values())), ordered=True)
    return frame


def _read_affairs() -> pd.DataFrame:
    frame = _read_statsmodels("fair")
    jobs = ("student", "unskilled", "white-collar", "skilled", "managerial", "professional")
    work = dict(enumerate(jobs, start=1))
    frame["affairs"] = (frame["affairs"] > 0).astype(float)
    return _name_states(
        frame,
        {
            "rate_marriage": {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"},
            "age": {17.5: "under 20", 22: "20-24", 27: "25-29", 32: "30-34", 37: "35-39", 42: "40 and over"},
            "yrs_married": {years: f"about {years:g}" for years in (0.5, 2.5, 6, 9, 13, 16.5, 23)},
            "children": {0: "none", 1: "1", 2: "2", 3: "3", 4: "4", 5.5: "5 or more"},
            "religious": {1: "not", 2: "mildly", 3: "fairly", 4: "strongly"},
            "educ": {
                9: "grade school",
                12: "high school",
                14: "some college",
                16: "college",
                17: "some graduate school",
                20: "advanced degree",
            },
            "occupation": work,
            "occupation_husb": work,
            "affairs": {0: "none", 1: "some"},
        },
    )


def _read_crime() -> pd.DataFrame:
    return _read_statsmodels("statecrime").astype(float).reset_index(drop=True)


def _read_diabetes() -> pd.DataFrame:
    from sklearn.datasets import load_diabetes

    bunch: Any = load_diabetes(as_frame=True, scaled=False)
    frame = bunch.data.drop(columns="sex").astype(float)
    frame["progression"] = bunch.target.astype(float)
    return frame


def _read_economy() -> pd.DataFrame:
    import pandas as pd

    frame = _read_statsmodels("macrodata")
    quarters = [f"{int(year)}Q{int(quarter)}" for year, quarter in zip(frame["year"], frame["quarter"], strict=True)]
    frame = frame.drop(columns=["year", "quarter"]).astype(float)
    frame.index = pd.PeriodIndex(quarters, freq="Q", name="quarter")
    return frame


def _read_election() -> pd.DataFrame:
    frame = _read_statsmodels("anes96").drop(columns="logpopul")
    liberal = ("extremely liberal", "liberal", "slightly liberal")
    views = (*liberal, "moderate", "slightly conservative", "conservative", "extremely conservative")
    democrat = ("strong Democrat", "weak Democrat", "independent-Democrat")
    party = (*democrat, "independent", "independent-Republican", "weak Republican", "strong Republican")
    school = ("1-8 grades", "some high school", "high school", "some college", "college", "master", "doctorate")
    labels: dict[str, dict] = {column: dict(enumerate(views, start=1)) for column in ("selfLR", "ClinLR", "DoleLR")}
    labels |= {
        "TVnews": {days: f"{days} days" for days in range(8)},
        "PID": dict(enumerate(party)),
        "educ": dict(enumerate(school, start=1)),
        "vote": {0: "Clinton", 1: "Dole"},
    }
    frame = _name_states(frame, labels)
    return frame.astype(dict.fromkeys(("popul", "age", "income"), float))


def _read_sea_temperature() -> pd.DataFrame:
    import pandas as pd

    years = _read_statsmodels("elnino").set_index("YEAR")
    months = pd.period_range(f"{int(years.index[0])}-01", periods=years.size, freq="M", name="month")
    return pd.DataFrame({"temperature": years.to_numpy(dtype=float).ravel()}, index=months)


def _read_visits() -> pd.DataFrame:
    frame = _read_statsmodels("randhie").drop(columns="fmde")
    steps = ["hlthg", "hlthf", "hlthp"]  # indicators; all are 0 for excellent
    frame["health"] = frame[steps].to_numpy() @ (1, 2, 3)
    labels = {"idp": {0: "no", 1: "yes"}, "health": dict(enumerate(("excellent", "good", "fair", "poor")))}
    frame = _name_states(frame.drop(columns=steps), labels)
    return frame.astype({column: float for column in frame.columns if column not in labels})


_READERS: dict[str, Callable[[], pd.DataFrame]] = {
    "affairs": _read_affairs,
    "breast_cancer": lambda: _read_classes("load_breast_cancer", "diagnosis"),
    "crime": _read_crime,
    "diabetes": _read_diabetes,
    "economy": _read_economy,
    "election": _read_election,
    "iris": lambda: _read_classes("load_iris", "species"),
    "sea_temperature": _read_sea_temperature,
    "visits": _read_visits,
    "wine": lambda: _read_classes("load_wine", "grape"),
}
