# SPDX-License-Identifier: Apache-2.0
"""The test driver tests/vm/dcbsim: loads it, puts its DCB side on interfaces, moves its counters."""

import json
import os
import subprocess
from pathlib import Path

DEBUGFS = Path("/sys/kernel/debug")
LACKS = {"ets-shares": 1, "pfc-high": 2, "maxrate": 4, "buffer-sizes": 8, "apptrust": 16, "app": 32}


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}{done.stdout}"
    return done.stdout


class Port:
    """An interface with the driver's DCB side. The namespace may be None: the initial one."""

    def __init__(self, netns, name, kind):
        self.netns, self.name = netns, name
        self._in_namespace("sh", "-c", f"echo '{name} {kind}' > /sys/module/dcbsim/parameters/attach")

    def _in_namespace(self, *command):
        inside = ["nsenter", f"--net=/run/netns/{self.netns}"] if self.netns else []
        return run(*inside, *command)

    def _file(self, name):
        return DEBUGFS / "dcbsim" / self.name / name

    def writes(self):
        """How often the driver was told something since it was attached."""
        return int(self._file("writes").read_text())

    def lack(self, *parts):
        """What it drops of every set from now on, keys of LACKS."""
        self._file("lacks").write_text(str(sum(LACKS[part] for part in parts)))

    def cee(self):
        """What it has been told in CEE: see tests/vm/dcbsim."""
        return json.loads(self._file("cee").read_text())

    def set_pause_frames(self, direction, priority, count):
        self._file(f"{direction}_prio{priority}_pause").write_text(str(count))

    def dcb(self, *words):
        """`dcb -j WORDS`: what iproute2 shows."""
        return json.loads(self._in_namespace("dcb", "-j", *words[:2], "dev", self.name, *words[2:]))

    def set(self, *words):
        """`dcb WORDS dev NAME ...`: what iproute2 sets."""
        self._in_namespace("dcb", *words[:2], "dev", self.name, *words[2:])


def load():
    module = os.environ.get("LL_DCBSIM")
    assert module, "LL_DCBSIM is not set; tests/vm/module prints the path of the driver"
    if not (DEBUGFS / "tracing").exists():
        run("mount", "-t", "debugfs", "debugfs", DEBUGFS)
    run("insmod", module)


def unload():
    run("rmmod", "dcbsim")
