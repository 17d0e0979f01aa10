# SPDX-License-Identifier: Apache-2.0
"""The labs `ring` and `hol`, small: a deadlock that stays, that the watchdog ends, and that never forms; and a flow
that suffers from another one's pause, and one that does not."""

from vethlab import topology
from vethlab.cli import TOPOLOGIES
from vethlab.runner import run_variant

RING = {"first": 1, "down": 0.5}


def run(lab, variant, tools, duration_s=None, **parameters):
    one = topology.load(TOPOLOGIES / f"{lab}.toml", variant, {"rate": 100, **parameters}, duration_s)
    return run_variant(one, tools, seed=7).outcome


def assert_nothing_lost(outcome):
    waiting = sum(n for place, n in outcome["drops_by_place"].items() if place.endswith(":queued"))
    assert outcome["drops"] == {"lossless": waiting, "lossy": 0}, outcome["drops_by_place"]


def test_without_help_the_deadlock_stays(tools):
    outcome = run("ring", "nothing", tools, **RING, triggers=1, every=3)
    failures = outcome["failures"]
    assert failures["deadlocks"] == 1
    assert failures["goodput_before_mbps"] > 0.9 * outcome["goodput_limit_mbps"]
    assert failures["goodput_end_mbps"] == 0, "two seconds after the link came back"
    assert_nothing_lost(outcome)


def test_with_the_watchdog_traffic_comes_back(tools):
    every = 4
    outcome = run("ring", "watchdog", tools, **RING, triggers=2, every=every)
    failures = outcome["failures"]
    assert failures["deadlocks"] > 0, failures
    assert max(failures["stuck_ms"]) < 1000 * every / 2, "not for the rest of the time, as without it"
    assert failures["goodput_end_mbps"] > 0.5 * failures["goodput_before_mbps"]
    freed = sum(n for place, n in outcome["drops_by_place"].items() if place.endswith(":watchdog"))
    assert failures["queues_freed"] > 0 and freed == failures["packets_freed"] > 0
    assert outcome["drops_by_place"]["unexplained"] == 0, outcome["drops_by_place"]


def test_with_hook_flows_moved_it_never_forms(tools):
    outcome = run("ring", "prevention", tools, **RING, triggers=3, every=1)
    failures = outcome["failures"]
    assert (failures["times"], failures["deadlocks"]) == (3, 0), failures
    assert failures["goodput_end_mbps"] > 0.9 * failures["goodput_before_mbps"]
    assert failures["hook_flows"] > 0 and failures["hook_packets"] > 0
    assert_nothing_lost(outcome)


def test_pfc_alone_stops_the_wrong_flow_and_ecn_does_not(tools):
    alone, both = (run("hol", variant, tools, duration_s=4) for variant in ("pfc", "ecn+pfc"))

    def victim(outcome):
        return next(f["goodput_mbps"] for f in outcome["flows"] if f["from"] == "s2")

    assert victim(alone) < 0.4 * 100, "no more than the flow to the slow receiver"
    assert victim(both) > 2 * victim(alone)
    assert both["pfc"]["tx"] * 3 < alone["pfc"]["tx"]
    for outcome in (alone, both):
        assert_nothing_lost(outcome)
