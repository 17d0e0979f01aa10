# SPDX-License-Identifier: Apache-2.0
"""What a run made, on record, so that it can be removed whatever happens to the run.

/run/lossless-lab/<run>/record.json names the process that owns the run, its namespaces, its children and
the daemon's instances; it is written before the things themselves are made. The folder also holds the
run's sockets, configurations and logs."""

import json
import os
import shutil
from pathlib import Path

from . import namespaces
from .interrupts import held
from .processes import kill_recorded, spawn, start_time
from .waiting import wait_for

RUNS = Path("/run/lossless-lab")
DAEMON_RUNS = Path("/run/lossless")
PINS = Path("/sys/fs/bpf/lossless")


class RunDir:
    """The folder and record of one run."""

    def __init__(self, run_id=None):
        self.run_id = run_id or namespaces.new_run_id()
        self.path = RUNS / self.run_id
        self._record = {"pid": os.getpid(), "start": start_time(os.getpid()),
                        "namespaces": [], "processes": [], "instances": []}

    def create(self):
        self.path.mkdir(parents=True, mode=0o700)
        self._write()
        return self

    def add_namespaces(self, names):
        self._record["namespaces"] += names
        self._write()

    def spawn(self, command, log, netns=None, die_with_parent=True):
        """Starts a process and puts it on record; `log` is a file name in the run's folder."""
        with held():
            process = spawn(command, self.path / log, netns, die_with_parent)
            self._record["processes"].append([process.pid, start_time(process.pid)])
            self._write()
            return process

    def add_instance(self, instance):
        self._record["instances"].append(instance)
        self._write()

    def remove(self):
        """Removes everything on record, then the record. Safe to call twice."""
        with held():
            remove_recorded(self.path, self._record)

    def _write(self):
        # Renamed into place: a run that dies here leaves the old record, not half of one.
        part = self.path / "record.part"
        part.write_text(json.dumps(self._record))
        part.rename(self.path / "record.json")


def _remove_tree(path):
    """Removes a folder of bpffs; its files are pins, and unlinking them frees what they hold."""
    for folder, _, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def remove_recorded(path, record):
    """Processes first, then pins and namespaces, the record last."""
    alive = [(pid, started) for pid, started in record["processes"] if started is not None]  # when recorded
    for pid, started in alive:
        kill_recorded(pid, started)
    for pid, started in alive:
        wait_for(lambda p=pid, s=started: start_time(p) != s, what=f"end of process {pid}")
    for instance in record["instances"]:
        _remove_tree(PINS / instance)
        shutil.rmtree(DAEMON_RUNS / instance, ignore_errors=True)  # a daemon that was killed leaves it
    namespaces.delete(record["namespaces"])
    shutil.rmtree(path, ignore_errors=True)


def dead_runs():
    """(run, record) of every run whose owner is gone."""
    found = []
    for path in sorted(RUNS.glob("*/record.json")):
        record = json.loads(path.read_text())
        if start_time(record["pid"]) != record["start"]:
            found.append((path.parent.name, record))
    return found


def clean():
    """Removes what dead runs left behind. Returns their names."""
    runs = dead_runs()
    for run, record in runs:
        remove_recorded(RUNS / run, record)
    return [run for run, _ in runs]
