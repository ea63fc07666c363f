"""Files of models with damage at random: refused by name, or a model that is valid."""

import json

import pytest

from pgmx.models import save_model
from tests.fuzz import tamper
from tests.fuzz.model_files import FILES, check_model
from tests.fuzz.mutations import attack, try_one
from tests.fuzz.plane_fields import follow, list_paths, set_path

pytestmark = pytest.mark.slow


def attack_file(folder, kind, n_cases, seed):
    make, name, read = FILES[kind]
    outcomes = attack(save_model(make(), folder / name), read, check_model, n_cases, seed)
    assert outcomes.total() == n_cases
    assert set(outcomes) <= {"read", "ValueError"}
    return outcomes


@pytest.mark.parametrize("kind", FILES)
def test_a_few(tmp_path, kind):
    assert attack_file(tmp_path, kind, 30, 0)["ValueError"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_many(tmp_path, kind):
    print(kind, attack_file(tmp_path, kind, 500, 1))


VALUES = (None, -1, 2**70, 1.5, "x", "", [], {}, [[]], [1], True, 1e308)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind.startswith("json")])
def test_any_field_of_a_document(tmp_path, kind):
    make, name, read = FILES[kind]
    path = save_model(make(), tmp_path / name)
    sound = path.read_text()
    for field in list_paths(json.loads(sound)):
        value = follow(json.loads(sound), field.split("."))
        for other in (*VALUES, value + value if isinstance(value, list) else [value, value]):
            document = json.loads(sound)
            set_path(document, field, other)
            path.write_text(json.dumps(document))
            try_one(path, read, check_model)


def test_the_tool_rewrites_a_field_of_a_text(tmp_path, capsys):
    make, name, read = FILES["uai"]
    path, other = save_model(make(), tmp_path / name), tmp_path / "other.uai"
    tamper.main([str(path), "--list"])
    assert "number.0 = '4'" in capsys.readouterr().out
    tamper.main([str(path), "--set", "number.0=99999999999", "--out", str(other)])
    with pytest.raises(ValueError, match=r"other\.uai"):
        read(other)
