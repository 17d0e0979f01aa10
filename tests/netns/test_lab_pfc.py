# SPDX-License-Identifier: Apache-2.0
"""The labs with priority flow control, small: nothing of a lossless TC is lost, on one hop and over three."""

import pytest

from vethlab import topology
from vethlab.cli import TOPOLOGIES
from vethlab.runner import run_variant

DURATION_S = 4


def run(lab, variant, tools, **parameters):
    one = topology.load(TOPOLOGIES / f"{lab}.toml", variant, parameters, DURATION_S)
    return run_variant(one, tools, seed=7)


@pytest.fixture(scope="module")
def incast(tools):
    return {v: run("incast", v, tools, senders=8, rate=100) for v in ("plain", "pfc", "ecn+pfc")}


@pytest.fixture(scope="module")
def chain(tools):
    return {v: run("chain", v, tools, senders=2, rate=100) for v in ("plain", "pfc")}


def assert_lossless(outcome):
    assert outcome["drops"]["lossless"] == 0, outcome["drops_by_place"]
    assert outcome["goodput_mbps"] >= 0.95 * outcome["goodput_limit_mbps"]


@pytest.mark.parametrize("variant", ["pfc", "ecn+pfc"])
def test_incast_loses_nothing(incast, variant):
    assert incast["plain"].outcome["drops"]["lossy"] > 0, "the same traffic loses without PFC"
    assert incast[variant].outcome["pfc"]["tx"] > 0
    assert_lossless(incast[variant].outcome)


def test_ecn_makes_pauses_rare_and_mice_fast(incast):
    alone, both = incast["pfc"].outcome, incast["ecn+pfc"].outcome
    assert both["pfc"]["tx"] * 10 <= alone["pfc"]["tx"]
    assert both["fct_ms"]["mice"]["p99"] < alone["fct_ms"]["mice"]["p99"]


def test_every_hop_of_the_chain_is_paused(chain):
    assert chain["plain"].outcome["drops"]["lossy"] > 0
    assert_lossless(chain["pfc"].outcome)
    rows = {(switch, row["port"]): row for switch, table in chain["pfc"].pfc.items() for row in table if row["tc"] == 3}
    assert rows["sw3", "sw2"]["tx_xoff"] > 0 and rows["sw2", "sw3"]["transitions"] > 0
    assert rows["sw2", "sw1"]["tx_xoff"] > 0 and rows["sw1", "sw2"]["transitions"] > 0
    assert all(rows["sw1", f"s{i}"]["tx_xoff"] > 0 for i in (1, 2))
