"""The version follows the tag, also in archives, shallow clones and source distributions; what a release changes."""

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (TOP / "setup.py").is_file(), reason="needs git and a source tree"
)


@pytest.fixture(scope="module")
def setup_module():
    pytest.importorskip("Cython", reason="setup.py imports Cython")
    return runpy.run_path(str(TOP / "setup.py"))


def git(folder, *words):
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")
    done = subprocess.run(["git", *author, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path):
    """A repository of the files that a version and a release are made of, with one commit."""
    folder = tmp_path / "pgmx"
    folder.mkdir()
    for name in ("setup.py", "CITATION.cff", ".gitattributes"):
        shutil.copy(TOP / name, folder)
    # not the one of this tree, which may come from an archive itself
    (folder / ".git_archival.txt").write_text("ref-names: $Format:%D$\n", encoding="utf-8")
    (folder / "tools").mkdir()
    shutil.copy(TOP / "tools" / "release.py", folder / "tools")
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n### Added\n- A thing.\n", encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def unpack(repository, folder):
    """Unpack what `git archive` writes of HEAD."""
    folder.mkdir()
    git(repository, "archive", "--format=zip", f"--output={folder}/a.zip", "HEAD")
    shutil.unpack_archive(folder / "a.zip", folder)
    return folder


def test_a_tag_is_the_version_in_a_checkout_an_archive_and_a_shallow_clone(setup_module, repository, tmp_path):
    read_version, static = setup_module["read_version"], setup_module["VERSION"]
    assert read_version(repository) == read_version(unpack(repository, tmp_path / "before")) == static
    git(repository, "tag", "nightly")
    git(repository, "tag", "v1.2.3rc1")
    assert read_version(repository) == read_version(unpack(repository, tmp_path / "at")) == "1.2.3rc1"
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), "shallow")
    assert read_version(tmp_path / "shallow") == "1.2.3rc1"
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "second")
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), "later")
    assert read_version(repository) == read_version(tmp_path / "later") == static


def test_the_file_of_archives_is_filled_in_by_git():
    assert re.match(r"ref-names: (\$Format:%D\$|HEAD\b.*|)\n", (TOP / ".git_archival.txt").read_text(encoding="utf-8"))
    assert ".git_archival.txt export-subst" in (TOP / ".gitattributes").read_text(encoding="utf-8").splitlines()


def test_a_source_distribution_keeps_its_version(setup_module, tmp_path):
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: pgmx\nVersion: 7.8.9\n\ntext\n", encoding="utf-8")
    assert setup_module["read_version"](tmp_path) == "7.8.9"


def run_release(repository, *words):
    words = [sys.executable, "tools/release.py", *words]
    return subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False)


def test_a_release_is_dated_committed_and_tagged(setup_module, repository, monkeypatch):
    for variable in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(variable, "a@b.c")
    words = ("0.3.0", "--next", "0.4.0.dev0")
    assert "would change CHANGELOG.md" in run_release(repository, *words, "--dry-run").stdout
    assert git(repository, "tag") == ""
    done = run_release(repository, *words)
    assert done.returncode == 0, done.stderr
    assert "git push origin main v0.3.0" in done.stdout
    assert git(repository, "status", "--porcelain") == "" and git(repository, "tag").split() == ["v0.3.0"]
    assert setup_module["read_version"](repository) == "0.3.0"
    assert 'VERSION = "0.4.0.dev0"\n' in (repository / "setup.py").read_text(encoding="utf-8")
    changelog = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"## Unreleased\n\n## 0\.3\.0 \(\d{4}-\d\d-\d\d\)\n\n### Added\n- A thing\.", changelog)
    citation = (repository / "CITATION.cff").read_text(encoding="utf-8")
    assert citation.count("version: 0.3.0\n") == 1 and citation.count("date-released: ") == 1


@pytest.mark.parametrize(
    ("version", "spoil", "words"),
    [
        ("0.3", lambda folder: None, "no version such as 0.1.0"),
        ("0.3.0", lambda folder: git(folder, "tag", "v0.3.0"), "there is a tag v0.3.0"),
        ("0.3.0", lambda folder: git(folder, "checkout", "--quiet", "-b", "other"), "not on main"),
        ("0.3.0", lambda folder: (folder / "new.txt").touch(), "not committed"),
        ("0.3.0", lambda folder: (folder / "CHANGELOG.md").write_text("# Changelog\n"), "no heading '## Unreleased'"),
        (
            "0.3.0",
            lambda folder: (folder / "CHANGELOG.md").write_text("## Unreleased\n\n## 0.2.0\n- Old.\n"),
            "says of nothing that it is new",
        ),
    ],
)
def test_nothing_is_released_where_something_is_in_the_way(repository, version, spoil, words):
    spoil(repository)
    done = run_release(repository, version, "--next", "0.4.0.dev0")
    assert done.returncode == 1 and done.stderr.startswith("nothing released: ") and words in done.stderr
    assert git(repository, "tag").split() in ([], ["v0.3.0"])
