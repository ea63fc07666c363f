"""Make a release: the changelog's heading, the citation, a commit and its tag, from which setup.py reads the version.

    python tools/release.py 0.1.0 --next 0.2.0.dev0 [--dry-run]

Works in a clean checkout of `main` and pushes nothing: its last lines are the commands that publish. The tag starts the
workflow wheels.yml, which builds what is uploaded.
"""

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = "## Unreleased\n"


def git(*words: str) -> str:
    """Return what git prints, without the white space around it."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def list_obstacles(version: str, changelog: str) -> list[str]:
    """Return why nothing can be released, as sentences."""
    obstacles = []
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        obstacles.append(f"{version!r} is no version such as 0.1.0 or 0.1.0rc1")
    if git("rev-parse", "--abbrev-ref", "HEAD") != "main":
        obstacles.append("the checkout is not on main")
    if git("status", "--porcelain"):
        obstacles.append("the checkout has changes that are not committed")
    if git("tag", "--list", f"v{version}"):
        obstacles.append(f"there is a tag v{version}")
    _, heading, after = changelog.partition(HEADING)
    if not heading:
        obstacles.append(f"CHANGELOG.md has no heading {HEADING.strip()!r}")
    elif not re.search(r"^- ", after.partition("\n## ")[0], re.MULTILINE):
        obstacles.append(f"CHANGELOG.md says of nothing that it is new under {HEADING.strip()!r}")
    return obstacles


def date_changelog(text: str, version: str, today: str) -> str:
    """Return the changelog with the unreleased entries under the version, and an empty heading above."""
    return text.replace(HEADING, f"{HEADING}\n## {version} ({today})\n", 1)


def date_citation(text: str, version: str, today: str) -> str:
    """Return the citation with the version and the date of the release."""
    bare = re.sub(r"^(version|date-released):.*\n", "", text, flags=re.MULTILINE)
    return f"{bare.rstrip()}\nversion: {version}\ndate-released: {today}\n"


def set_version(text: str, version: str) -> str:
    """Return setup.py with the version of what is no release."""
    return re.sub(r'^VERSION = ".*"$', f'VERSION = "{version}"', text, count=1, flags=re.MULTILINE)


def main() -> None:
    """Check, write, commit and tag."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", help="for instance 0.1.0")
    parser.add_argument("--next", required=True, metavar="VERSION", help="of what follows, for instance 0.2.0.dev0")
    parser.add_argument("--dry-run", action="store_true", help="check, and say what would be done")
    options = parser.parse_args()
    version, today = options.version, datetime.date.today().isoformat()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    obstacles = list_obstacles(version, changelog)
    if obstacles:
        sys.exit("nothing released: " + "; ".join(obstacles))
    changes = {
        "CHANGELOG.md": date_changelog(changelog, version, today),
        "CITATION.cff": date_citation((ROOT / "CITATION.cff").read_text(encoding="utf-8"), version, today),
        "setup.py": set_version((ROOT / "setup.py").read_text(encoding="utf-8"), options.next),
    }
    if options.dry_run:
        print(f"would change {', '.join(changes)}, commit, and tag v{version}")
        return
    for name, text in changes.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", f"Version {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"pgmx {version}")
    print(f"tagged v{version}. To publish:\n  .ci/run && git push origin main v{version}")


if __name__ == "__main__":
    main()
