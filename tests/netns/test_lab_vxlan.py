# SPDX-License-Identifier: Apache-2.0
"""The lab vxlan: a mark reaches the receiver from wherever the tunnel's way is congested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vethlab import topology, tools as vethlab_tools

LAB = Path(__file__).resolve().parents[2] / "veth-topo" / "lab"
TOPOLOGY = LAB.parent / "topologies" / "vxlan.toml"


@pytest.fixture
def build(request):
    return str(vethlab_tools.Tools(request.config.getoption("--build")).build)


def test_marks_from_all_three_places_reach_the_receiver(build, tmp_path):
    file = tmp_path / "o.json"
    done = subprocess.run([sys.executable, LAB, "run", "vxlan", "--build", build, "--senders", "2", "--rate", "40", "--duration", "2",
                           "--json", file], text=True, capture_output=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    runs = {o["variant"]: o for o in json.loads(file.read_text())["runs"]}
    for variant in ("ingress", "transit", "egress"):
        o = runs[variant]
        assert o["ecn"]["marked"] > 0 and o["ecn"]["failed"] == 0, variant
        assert o["cnp"]["sent"] > 0, variant
        assert o["drops_by_place"]["unexplained"] == 0, o["drops_by_place"]
    # Without it the traffic is in another class on its way, which drops it.
    assert runs["transit"]["drops"]["lossy"] == 0 < runs["off"]["drops"]["lossy"]
    assert runs["off"]["goodput_mbps"] < runs["transit"]["goodput_mbps"]


def test_a_tunnels_ends_have_addresses_and_names():
    lab = topology.load(TOPOLOGY, "transit")
    ends = {s.name: s.vxlan for s in lab.switches if s.vxlan}
    assert set(ends) == {"v1", "v2"}
    assert {e.ip for e in ends.values()} == {"192.0.2.1", "192.0.2.3"}
    assert lab.switches[0].tables == {"ecn_overlay": {"enabled": True, "carry_dscp": "all"}}
    assert topology.load(TOPOLOGY, "off").switches[0].tables["ecn_overlay"]["enabled"] is False
