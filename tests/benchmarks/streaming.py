"""All tables of the learners of streams: each script streaming_*.py in a separate process.

    python tests/benchmarks/streaming.py [raker kernels peers gradraker subspace ...] [--out FILE]

A script takes ``all --out FILE`` and writes its tables to the file as JSON; they are joined here by the names of the
scripts. A script that fails is named at the end. Set OMP_NUM_THREADS=1; figures are on the page STREAMS.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PREFIX = "streaming_"


def main(argv=None):
    """Run the scripts that are named, all by default; return how many failed."""
    scripts = {path.stem.removeprefix(PREFIX): path for path in sorted(FOLDER.glob(f"{PREFIX}*.py"))}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(scripts))
    parser.add_argument("--out", type=Path, help="where the tables are written as JSON")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.names if name not in scripts]
    if unknown:
        parser.error(f"no script is named {unknown[0]!r}: the names are {', '.join(scripts)}")
    tables, failed = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or scripts:
            print(f"--- {name}", flush=True)
            file = Path(folder, f"{name}.json")
            done = subprocess.run([sys.executable, scripts[name], "all", "--out", file], check=False)
            if done.returncode == 0 and file.exists():
                tables[name] = json.loads(file.read_text())
            else:
                failed.append(name)
            if arguments.out:  # after each script: what was measured is there if the next one fails
                arguments.out.write_text(json.dumps(tables, indent=1))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
