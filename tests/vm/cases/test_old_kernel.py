# SPDX-License-Identifier: Apache-2.0
"""A kernel without tcx: losslessd says so in one line and touches nothing."""

import subprocess

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_losslessd_names_what_is_missing(star):
    switch = star(2)
    daemon = switch.daemon(start=False)
    done = subprocess.run(["nsenter", f"--net=/run/netns/{switch.switch}", daemon._tools.path("losslessd"),
                           "--config", daemon.config], text=True, capture_output=True, check=False, timeout=60)
    print(done.stderr)
    assert done.returncode not in (0, None)
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) == 1, lines
    assert "6.1." in lines[0] and "tcx" in lines[0] and "6.6" in lines[0]
    qdiscs = subprocess.run(["tc", "-n", switch.switch, "qdisc", "show"], text=True, capture_output=True, check=True).stdout
    assert "htb" not in qdiscs and "clsact" not in qdiscs
