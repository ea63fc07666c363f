"""What a shell gets when Tab is pressed, and the script that asks for it."""

import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pgmx.cli import main

CALL = "from pgmx.cli import main; main(prog_name='pgmx')"


def complete(words, number):
    """Return what the script of bash suggests for the word of this number."""
    environment = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(number), "_PGMX_COMPLETE": "bash_complete"}
    done = CliRunner().invoke(main, prog_name="pgmx", env=environment, complete_var="_PGMX_COMPLETE")
    return [tuple(line.split(",", 1)) for line in done.output.split()]


def test_commands_options_and_their_values():
    assert ("plain", "bootstrap") in complete(["pgmx", "bo"], 1)
    assert {("plain", "--method"), ("plain", "--missing")} <= set(complete(["pgmx", "learn", "--m"], 2))
    assert complete(["pgmx", "learn", "--strategy", "th"], 3) == [("plain", "thorough")]


@pytest.mark.parametrize("command", ["learn", "bootstrap", "show", "compare"])
def test_bundled_networks_and_files(command):
    assert complete(["pgmx", command, "ha"], 2) == [("file", "ha"), ("plain", "hailfinder")]
    assert complete(["pgmx", command, "./ha"], 2) == [("file", "./ha")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed(shell):
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0 and f"_PGMX_COMPLETE={shell}_complete" in done.output.replace(" ", "").replace("env", "")


def test_another_shell_is_refused_in_one_line():
    done = CliRunner().invoke(main, ["completion", "csh"])
    assert done.exit_code == 2 and "'csh' is not one of 'bash', 'zsh', 'fish'" in done.output


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script(tmp_path):
    (tmp_path / "pgmx").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{CALL}" "$@"\n')
    (tmp_path / "pgmx").chmod(0o755)
    script = 'eval "$(pgmx completion bash)"; COMP_WORDS=(pgmx learn alar); COMP_CWORD=2; _pgmx_completion pgmx; '
    words = ["bash", "-c", script + 'echo "${COMPREPLY[@]}"']
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "alarm" in done.stdout.split()
