# SPDX-License-Identifier: Apache-2.0
"""The whole network of examples/rdma-example: its files are accepted, and nothing of priority 5 is lost."""

import pytest

from vethlab import topology
from vethlab.cli import TOPOLOGIES
from vethlab.runner import run_variant
from vethlab.tools import ROOT


@pytest.mark.parametrize("name", ["a", "b", "server"])
def test_files_are_right(tools, sandbox, name):
    netns = sandbox.netns("x")
    done = sandbox.run(netns, tools.path("losslessctl"), "config", "check", str(ROOT / f"examples/rdma-example/{name}.toml"))
    assert "ok" in done


def test_priority_5_is_lossless_and_has_its_share(tools):
    one = topology.load(TOPOLOGIES / "rdma-example.toml", "lossless", {"rate": 100}, 4)
    outcome = run_variant(one, tools, seed=3).outcome
    print(outcome)
    assert outcome["drops"]["lossless"] == 0, outcome["drops_by_place"]
    assert outcome["drops_by_place"]["unexplained"] == 0
    assert outcome["ecn"]["marked"] > 0 and outcome["ecn"]["failed"] == 0
    # The servers, which are configured to nothing, have what the switches have.
    assert {row["link"] for row in outcome["dcbx"]} == {"s1", "s2", "s3"}
    for row in outcome["dcbx"]:
        assert row["agreed"] and row["operational"]["pfc"] == [5] and row["operational"]["ets"]["share"][5] == 50
        assert row["willing"] == {"host": ["ets", "pfc", "apps"], "switch": []}
        assert row["operational"]["apps"] == ["udp 4791 = 5"]
    assert outcome["goodput_mbps"] >= 0.9 * outcome["goodput_limit_mbps"]
