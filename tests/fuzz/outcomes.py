"""What a case ended in: right, a clear error, an unclear error, wrong, or a crash, in forked children with limits."""

import faulthandler
import json
import os
import selectors
import shutil
import signal
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.cases import Case, draw_case
from tests.helpers.processes import Child, set_limits, start_child

OUTCOMES = ("right", "clear error", "unclear error", "wrong", "crash")
SECONDS, MEGABYTES = 30.0, 1500

#: Seconds of the clock for each second of the processor that a case may take.
WAIT = 4


class Outcome(NamedTuple):
    """How a case ended."""

    number: int
    entry: str
    kind: str
    text: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether pgmx did other than what was expected."""
        return self.kind not in ("right", "clear error")


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """Return the outcome of a case in this process, and what is wrong where something is."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            result = case.call(folder)
    except MemoryError:
        return "crash", f"out of memory; expected: {case.expectation}\n{traceback.format_exc()}"
    except Exception as error:
        faults = [*case.faults, *([case.refusal] if case.refusal else [])]
        if any(fault.is_named_by(error) for fault in faults):
            return "clear error", ""
        kind = "wrong" if not faults and isinstance(error, AssertionError | ValueError | TypeError) else "unclear error"
        return kind, f"expected: {case.expectation}\n{traceback.format_exc()}"
    if case.faults:
        return "wrong", f"expected: {case.expectation}; got in silence: {result!r:.500}"
    try:
        case.check(result)
    except Exception:
        return "wrong", f"expected: {case.expectation}; got {result!r:.500}\n{traceback.format_exc()}"
    return "right", ""


def run_batch(seed: int, numbers: list[int], pattern: str, limits: dict, prepare: Callable, writer: int) -> None:
    """Run cases one after the other in this process; write a line as each begins and one as it ends."""
    prepare()
    set_limits(seconds=limits["seconds"], megabytes=limits["megabytes"])
    warnings.simplefilter("ignore")
    for category in (ResourceWarning, RuntimeWarning):
        warnings.simplefilter("error", category)
    trace_path = Path(limits["folder"], f"trace.{os.getpid()}")
    with open(trace_path, "wb") as trace, open(writer, "w", buffering=1) as pipe:
        faulthandler.enable(trace)
        for limit in (signal.SIGALRM, signal.SIGPROF):
            faulthandler.register(limit, trace, chain=True)
        for number in numbers:
            signal.setitimer(signal.ITIMER_PROF, limits["seconds"])  # of the processor, which others may need too
            signal.setitimer(signal.ITIMER_REAL, WAIT * limits["seconds"])
            case = draw_case(seed, number, pattern)
            pipe.write(json.dumps([number, case.entry]) + "\n")
            folder = Path(limits["folder"], str(number))
            folder.mkdir()
            kind, text = judge(case, folder)
            if kind in ("right", "clear error"):
                shutil.rmtree(folder)
            pipe.write(json.dumps([number, case.entry, kind, f"{case.plan}\n{text[-6000:]}"]) + "\n")
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
    trace_path.unlink()


@dataclass
class Batch:
    """Cases that run in one child, and what is known of them."""

    numbers: list[int]
    child: Child
    reader: int
    buffer: bytes = b""
    outcomes: list[Outcome] = field(default_factory=list)
    running: tuple[int, str] = (-1, "")

    def take(self, data: bytes) -> None:
        """Note what the child wrote."""
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            number, entry, *rest = json.loads(line)
            if rest:
                self.outcomes.append(Outcome(number, entry, *rest))
                self.running = (-1, "")
            else:
                self.running = (number, entry)


def run_cases(
    seed: int,
    numbers: Iterable[int],
    folder: Path,
    *,
    pattern: str = "*",
    jobs: int = 1,
    batch: int = 50,
    seconds: float = SECONDS,
    megabytes: int = MEGABYTES,
    prepare: Callable[[], object] = lambda: None,
    isolate: bool = True,
) -> Iterator[Outcome]:
    """Yield the outcome of each case; cases share a child until one fails, which then, to isolate it, runs alone.

    `prepare` is called in each child. The files of cases that fail are left under `folder`.
    """
    numbers = list(numbers)
    waiting = [numbers[at : at + batch] for at in range(0, len(numbers), batch)][::-1]
    running: dict[int, Batch] = {}
    suspects: dict[int, Outcome] = {}
    selector = selectors.DefaultSelector()
    limits = {"seconds": seconds, "megabytes": megabytes, "folder": str(folder)}
    while waiting or running:
        while waiting and len(running) < jobs:
            group = waiting.pop()
            for number in group:
                shutil.rmtree(folder / str(number), ignore_errors=True)
            reader, writer = os.pipe()
            child = start_child(run_batch, seed, group, pattern, limits, prepare, writer)
            os.close(writer)
            running[reader] = Batch(group, child, reader)
            selector.register(reader, selectors.EVENT_READ)
        for key, _ in selector.select():
            job, data = running[key.fd], os.read(key.fd, 1 << 16)
            job.take(data)
            if data:
                continue
            selector.unregister(key.fd)
            del running[key.fd]
            yield from finish(job, folder, waiting, suspects if isolate else None)


def finish(
    job: Batch, folder: Path, waiting: list[list[int]], suspects: dict[int, Outcome] | None
) -> Iterator[Outcome]:
    """Yield the outcomes of a batch; put back what it did not reach, and its failures, which run alone."""
    os.close(job.reader)
    with open(job.child.reader, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(os.waitpid(job.child.pid, 0)[1])
    outcomes = list(job.outcomes)
    if status:
        cause = "a hang" if status in (-signal.SIGALRM, -signal.SIGPROF) else f"exit status {status}"
        trace = folder / f"trace.{job.child.pid}"
        if trace.exists():
            text += trace.read_text(errors="replace")
            trace.unlink()
        place = job.running if job.running[0] >= 0 else (find_next(job), "?")
        outcomes.append(Outcome(*place, "crash", f"{cause}\n{text}"))
        reached = {outcome.number for outcome in outcomes}
        rest = [number for number in job.numbers if number not in reached]
        if rest:
            waiting.append(rest)
    for outcome in outcomes:
        first = None if suspects is None else suspects.pop(outcome.number, None)
        if suspects is not None and outcome.is_failure and first is None and len(job.numbers) > 1:
            suspects[outcome.number] = outcome
            waiting.append([outcome.number])
        elif first is not None and not outcome.is_failure and "a hang" not in first.text:
            note = f"{first.text}\nonly after the cases {job.numbers} in one process"
            yield first._replace(text=note)
        else:
            yield outcome


def find_next(job: Batch) -> int:
    """Return the first case of a batch that has no outcome."""
    reached = {outcome.number for outcome in job.outcomes}
    return next(number for number in job.numbers if number not in reached)
