# SPDX-License-Identifier: Apache-2.0
"""The lab inof-direct: everybody is told, of nothing else, and nothing is left behind."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vethlab import inof_lab, namespaces, tools as vethlab_tools

LAB = Path(__file__).resolve().parents[2] / "veth-topo" / "lab"


def run(build, *options):
    return subprocess.run([sys.executable, LAB, "run", "inof-direct", "--build", build, *options], text=True,
                          capture_output=True, check=False, timeout=240)


@pytest.fixture
def build(request):
    return str(vethlab_tools.Tools(request.config.getoption("--build")).build)


def test_everybody_is_told_and_of_nothing_else(build, tmp_path):
    before = set(namespaces.NETNS_DIR.iterdir()) if namespaces.NETNS_DIR.exists() else set()
    file = tmp_path / "o.json"
    done = run(build, "--variant", "mixed", "--set", "servers=2", "--set", "disks=2", "--set", "rounds=1", "--json", file)
    assert done.returncode == 0, done.stderr
    o = json.loads(file.read_text())
    assert (o["lab"], o["variant"], o["hosts"], o["switches"]) == ("inof-direct", "mixed", 4, 2)
    assert (o["wrong_leaves"], o["wrong_joins"]) == (0, 0)
    events = {e["what"]: e for e in o["events"]}
    assert set(events) == {"join", "full-state", "link-down"}
    for e in events.values():
        assert e["notified"] == e["expected"] == e["acked"] > 0, e
        assert 0 < e["ms"]["p50"] <= e["ms"]["p99"] <= e["ms"]["max"]
    # Two servers are told of each of two disks at each of two switches.
    assert (events["link-down"]["count"], events["link-down"]["expected"], events["link-down"]["reason"]) == (4, 8, 1)
    assert set(namespaces.NETNS_DIR.iterdir()) - before == set()


def test_the_plan_counts_mates_by_zone():
    plan = inof_lab.Plan(servers=2, disks=3, variant="odcc")
    assert plan.mates("disk1") == {"srv1", "srv2", "disk3"}
    assert plan.mates("disk2") == {"srv1", "srv2"}
    assert plan.mates("srv1") == {"srv2", "disk1", "disk2", "disk3"}


@pytest.mark.parametrize("options, said", [
    (["--variant", "nix"], "no variant 'nix'"),
    (["--set", "disks=99"], "disks = 99: allowed is 1 to 32"),
    (["--set", "nix=1"], "no parameter 'nix'"),
    (["--plot", "/tmp/x.svg"], "nothing to draw"),
])
def test_wrong_arguments(build, options, said):
    done = run(build, *options)
    assert done.returncode == 1 and said in done.stderr
