# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run inside a guest: those of tests/netns (tools, sandbox, star, …), and these."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

NETNS = Path(__file__).resolve().parents[2] / "netns"


def fixtures_of_netns():
    """What tests/netns/conftest.py defines. A second folder's conftest.py cannot be imported by its name."""
    sys.path.insert(0, str(NETNS))  # for the modules beside it
    spec = importlib.util.spec_from_file_location("netns_conftest", NETNS / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


globals().update(fixtures_of_netns())

PINS = Path("/sys/fs/bpf/lossless")
KERNEL_TROUBLE = re.compile(r"WARNING:|BUG:|Oops|general protection|Call Trace|rcu.*stall|refcount_t")


def output_of(*command):
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}{done.stdout}"
    return done.stdout


def leftovers():
    """What of ours is in the kernel: name -> list; empty when nothing is."""
    links = json.loads(output_of("bpftool", "-j", "link", "show") or "[]")
    found = {
        "links": [link["id"] for link in links if link["type"] in ("tcx", "xdp")],
        "pins": [str(path) for path in PINS.glob("*")],
        "namespaces": [line.split()[0] for line in output_of("ip", "netns", "list").splitlines()],
    }
    return {name: items for name, items in found.items() if items}


@pytest.fixture
def nothing_left(wait_for):
    """After the test, nothing of ours is left in the kernel, and it has not complained."""
    yield
    # The kernel frees links and namespaces a moment after the last one let go.
    wait_for(lambda: not leftovers(), 30, f"nothing left of ours: {leftovers()}")
    trouble = [line for line in output_of("dmesg").splitlines() if KERNEL_TROUBLE.search(line)]
    assert not trouble, "\n".join(trouble)
