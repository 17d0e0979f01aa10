# SPDX-License-Identifier: Apache-2.0
"""A stock kernel that is new enough: everything loads, attaches, marks, and goes away again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vethlab.tools import ROOT

pytestmark = pytest.mark.usefixtures("nothing_left")

QUEUES = {"3": {"lossless": True, "limit": "500KB", "ecn": {"kmin": "15KB", "kmax": "60KB", "pmax": 0.2}}}


def loaded_modules():
    return {line.split()[0] for line in Path("/proc/modules").read_text().splitlines()}


def bpf_programs(tools):
    programs = sorted((tools.build / "tests" / "bpf").glob("*_test"))
    assert programs, f"no test programs in {tools.build}/tests/bpf"
    return programs


def test_bpf_programs_packet_by_packet(tools):
    # 100,000 CNPs are for the machine itself: emulated, they take minutes and show nothing that a few do not.
    without = "--gtest_filter=-Ipcc.ACnpForTheSenderOfEachPacket*"
    for program in bpf_programs(tools):
        done = subprocess.run([program, "--gtest_brief=1", without], check=False)
        assert done.returncode == 0, program


def test_everything_attaches_and_is_given_back(star):
    switch = star(2)
    daemon = switch.daemon(queues=QUEUES, port={"rate": "100mbit"})  # returns when the ports are attached
    states = {port["name"]: port["state"] for port in daemon.ctl("show", "ports")["ports"]}
    assert states == {"h1": "ATTACHED", "h2": "ATTACHED"}
    # Nobody loaded these by hand: the kernel fetched them when the queue tree was made.
    assert {"veth", "bridge", "sch_htb", "sch_tbf"} <= loaded_modules()

    daemon.ctl("detach", "--all")
    qdiscs = subprocess.run(["tc", "-n", switch.switch, "qdisc", "show"], text=True, capture_output=True, check=True).stdout
    assert "htb" not in qdiscs and "tbf" not in qdiscs


def test_capabilities_name_what_this_kernel_has(star):
    daemon = star(2).daemon()
    kernel = {c["name"]: c for c in daemon.ctl("show", "capabilities")["kernel"]}
    for name in ("btf", "tcx"):
        assert kernel[name]["available"], kernel[name]
    release = tuple(int(n) for n in os.uname().release.split(".")[:2])
    assert kernel["bpf-qdisc"].get("available", False) == (release >= (6, 16)), release


def test_small_incast_marks_and_accounts_for_every_packet(tools, tmp_path):
    result = tmp_path / "incast.json"
    done = subprocess.run([sys.executable, ROOT / "veth-topo" / "lab", "run", "incast", "--senders", "2", "--rate", "20",
                           "--variant", "ecn", "--duration", "4", "--json", result, "--build", tools.build],
                          text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(result.read_text())
    print(json.dumps(outcome))
    assert outcome["ecn"]["marked"] > 0 and outcome["ecn"]["failed"] == 0
    assert outcome["cnp"]["sent"] > 0
    assert outcome["goodput_mbps"] > 0
    assert outcome["drops_by_place"]["unexplained"] == 0, outcome["drops_by_place"]
