"""Fits that die as by a signal, right after one of their snapshots."""

from pgmx.runs.checkpoint import Checkpoint


class Killed(BaseException):
    """What ends a fit as a signal would."""


def kill_at_snapshot(number, monkeypatch):
    """Let fits die after the snapshot of this number, counted from 1; return the list of all snapshots."""
    snapshots = []
    write = Checkpoint.save

    def write_and_die(self, snapshot):
        write(self, snapshot)
        snapshots.append(snapshot)
        if len(snapshots) == number:
            raise Killed

    monkeypatch.setattr(Checkpoint, "save", write_and_die)
    return snapshots
