"""Python in a process of its own."""

import os
import subprocess
import sys


def run_python(*arguments, timeout=600, **environment):
    """Run Python with the search path of this process; a variable of the environment that is None is unset."""
    search_path = os.pathsep.join(path for path in sys.path if path)
    variables = {**os.environ, "PYTHONPATH": search_path, **environment}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
