# SPDX-License-Identifier: Apache-2.0
"""Topology files, computed values and figures: what is worked out, and what is refused. And the builder, on
other shapes than incast."""

import pytest

from vethlab import counters, expressions, failures, namespaces, outcome, report, samples, topology
from vethlab.cli import TOPOLOGIES
from vethlab.toml_text import table_text
from vethlab.waiting import WaitTimeout, wait_for


@pytest.mark.parametrize("text, value", [
    ("senders", 4),
    ("senders * at_rate(10)", 4 * 125_000),
    ("at_rate(1, 1000)", 125_000),
    ("1024 if rate <= 200 else 4096", 1024),
    ("max(1, senders / 8)", 1),
    ("senders / 8", 0.5),
    ("-(2 + 3) // 2", -3),
])
def test_expressions(text, value):
    assert expressions.evaluate(text, {"senders": 4, "rate": 100}) == value


@pytest.mark.parametrize("text, complaint", [
    ("sender", "unknown name 'sender'; known are rate, senders"),
    ("__import__('os')", "not allowed"),
    ("senders.real", "not allowed"),
    ("1 +", "invalid syntax"),
    ("1 / 0", "division by zero"),
    ("[1]", "not allowed"),
])
def test_expressions_refused(text, complaint):
    with pytest.raises(expressions.ExpressionError, match=complaint.replace("(", r"\(")):
        expressions.evaluate(text, {"senders": 4, "rate": 100})


def load_text(tmp_path, text, variant="v", given=None):
    path = tmp_path / "shape.toml"
    path.write_text(text + "\n[variant.v]\n")
    return topology.load(path, variant, given)


def test_every_lab_loads_in_every_variant():
    for path in TOPOLOGIES.glob("*.toml"):
        if topology.read_file(path).get("kind"):
            continue  # built by a program of its own
        for variant in topology.variants_of(topology.read_file(path)):
            assert topology.load(path, variant).hosts


def test_a_variant_is_laid_over_the_file():
    plain, ecn = (topology.load(TOPOLOGIES / "incast.toml", v, {"senders": 3, "rate": 1000}) for v in ("plain", "ecn"))
    assert "ecn" not in plain.switches[0].queues["3"]
    assert ecn.switches[0].queues["3"]["ecn"]["kmin"] < ecn.switches[0].queues["3"]["ecn"]["kmax"]
    assert ecn.switches[0].queues["3"]["limit"] == plain.switches[0].queues["3"]["limit"]
    assert [h.name for h in ecn.hosts] == ["r", "s1", "s2", "s3"]
    assert len({h.ip for h in ecn.hosts} | {h.mac for h in ecn.hosts}) == 8


@pytest.mark.parametrize("text, given, complaint", [
    ("[parameters.n]\ndefault = 1\nmax = 4", {"n": 5}, "n = 5: allowed is 1 to 4|n = 5: allowed is"),
    ("[parameters.n]\ndefault = 1", {"m": 5}, "no parameter 'm'; it has n"),
    ("title = 3\nhots = 1", None, "unknown key 'hots'"),
    ("[host.a]\n[link.x]\nends = ['a', 'b']", None, "no host or switch 'b'"),
    ("[host.a]\n[link.x]\nends = ['a']", None, "link.x.ends: must name two"),
    ("[host.a]\ncount = 2\n[host.b]\ncount = 3\n[link.x]\nends = ['a', 'b']", None, "a has 2 members, b has 3"),
    ("sample = ['sw:r:3']\n[switch.sw]", None, "no port r at sw"),
    ("[host.a]\ncount = '= n'", None, "host.a.count: unknown name 'n'"),
    ("[switch.a]\nvxlan = { peer = 'b' }", None, "switch.a.vxlan: it has towards and peer"),
    ("[switch.a]\nvxlan = { towards = 'b', peer = 'b' }\n[switch.b]", None, "'b' has no tunnel to a"),
    ("[switch.a]\nvxlan = { towards = 'c', peer = 'b' }\n[switch.b]\nvxlan = { towards = 'c', peer = 'a' }", None,
     "no link to 'c'"),
    ("[host", None, "shape.toml"),
])
def test_files_refused(tmp_path, text, given, complaint):
    with pytest.raises(topology.TopologyError, match=complaint):
        load_text(tmp_path, text, given=given)


CHAIN = """
[host.a]
[host.b]
[switch.sw1]
managed = false
[switch.sw2]
managed = false
[switch.sw3]
managed = false
[link.a]
ends = ["a", "sw1"]
[link.left]
ends = ["sw1", "sw2"]
[link.right]
ends = ["sw2", "sw3"]
[link.b]
ends = ["b", "sw3"]
"""
RING = CHAIN + '[link.back]\nends = ["sw3", "sw1"]\n'


@pytest.mark.parametrize("shape, hops", [
    (CHAIN, {"sw1": "a", "sw2": "sw1", "sw3": "sw2"}),
    (RING, {"sw1": "a", "sw2": "sw1", "sw3": "sw1"}),
])
def test_next_hops_are_shortest_paths(tmp_path, shape, hops):
    assert load_text(tmp_path, shape).next_hops("a") == hops


@pytest.mark.parametrize("shape", [CHAIN, RING], ids=["chain", "ring"])
def test_the_builder_joins_switches(tmp_path, sandbox, wire, shape):
    from scapy.layers.l2 import Ether

    one = load_text(tmp_path, shape)
    names = {node: namespaces.ns_name(sandbox.rundir.run_id, node) for node in one.nodes}
    sandbox.rundir.add_namespaces(list(names.values()))
    namespaces.build(one, sandbox.rundir.run_id)
    a, b = (wire(names[h.name], "eth0") for h in one.hosts)
    frames = [Ether(src=one.hosts[0].mac, dst=one.hosts[1].mac, type=0x88b5) / bytes([i] * 50) for i in range(20)]
    a.send(*frames)
    # Every frame once and in order: a loop would deliver more, a missing entry none.
    got = b.receive(len(frames) + 1, match=lambda p: p.type == 0x88b5, limit_s=1.0)
    assert [bytes(p) for p in got] == [bytes(f) for f in frames]


def test_ties_go_the_way_that_links_are_written(tmp_path):
    ring = load_text(tmp_path, "".join(f"[host.h{i}]\n[switch.s{i}]\n" for i in range(1, 5)) + "".join(
        f"[link.r{i}]\nends = ['s{i}', 's{i % 4 + 1}']\n[link.h{i}]\nends = ['h{i}', 's{i}']\n" for i in range(1, 5))
        + "[link.cross]\nends = ['s2', 's4']\n")
    for i in range(1, 5):
        hops = ring.next_hops(f"h{i}", without="cross")
        before, across = (i - 2) % 4 + 1, (i - 3) % 4 + 1
        assert (hops[f"s{across}"], hops[f"s{before}"]) == (f"s{before}", f"s{i}"), "clockwise"
    assert ring.next_hops("h4")["s2"] == "s4"


@pytest.mark.parametrize("failure, complaint", [
    ("link = 'y'\nfirst_s = 1\ndown_s = 1\nevery_s = 2\ntimes = 1", "failure.link: no link 'y'"),
    ("link = 'x'\nfirst_s = 1\ndown_s = 2\nevery_s = 2\ntimes = 1", "down_s = 2 must be above 0 and below every_s"),
    ("link = 'x'", "it has link, first_s, down_s, every_s, times"),
])
def test_failures_refused(tmp_path, failure, complaint):
    with pytest.raises(topology.TopologyError, match=complaint):
        load_text(tmp_path, f"[host.a]\n[switch.s]\n[link.x]\nends = ['a', 's']\n[failure]\n{failure}\n")


def test_a_group_of_ports_to_switches(tmp_path):
    one = load_text(tmp_path, "[host.a]\n[switch_defaults]\nport_group.up = 'switches'\n[switch.s]\n[switch.t]\n"
                              "[link.a]\nends = ['a', 's']\n[link.b]\nends = ['s', 't']\n")
    assert [s.groups for s in one.switches] == [{"up": ["t"]}, {"up": ["s"]}]


def events(*ms):
    return [failures.Event(int(t * 1e6), i % 2 == 0) for i, t in enumerate(ms)]


def result_of(goodput):
    return {"start_ns": 0, "series": [{"t_ms": 50 * (i + 1), "goodput_mbps": g} for i, g in enumerate(goodput)]}


def test_a_long_standstill_or_one_that_a_watchdog_found_is_a_deadlock():
    # Steps of 50 ms: a dip of one step, a second failure with a standstill of 600 ms, then traffic again.
    goodput = [100] * 20 + [50, 0] + [100] * 18 + [10] + [0] * 12 + [100] * 13
    dogs = {"sw": {"queues": [{"deadlocks": "2", "discarded": "30", "history": [{"detected_ms_ago": "1900"}]}]}}
    for freed_at_ms, deadlocks in ((5000, 1), (3000, 2)):  # 3100 and 1100 ms after the start
        figures = failures.figures(events(1010, 1200, 2010, 2200), result_of(goodput),
                                   {"sw": {"flows": [{}], "moved": "7"}}, dogs, freed_at_ms * 10**6)
        assert figures["stuck_ms"] == [50, 600]
        assert (figures["times"], figures["deadlocks"]) == (2, deadlocks)
    assert (figures["goodput_before_mbps"], figures["goodput_end_mbps"]) == (100, 100)
    assert (figures["hook_flows"], figures["hook_packets"]) == (1, 7)
    assert (figures["queues_freed"], figures["packets_freed"]) == (2, 30)


def test_a_standstill_that_never_ends_lasts_to_the_end():
    figures = failures.figures(events(1010, 1200), result_of([100] * 20 + [0] * 60), {}, {}, 0)
    assert figures["stuck_ms"] == [3000]
    assert figures["goodput_end_mbps"] == 0


def test_percentiles_are_nearest_rank():
    assert samples.percentile([5, 1, 4, 2, 3], 0.5) == 3
    assert samples.percentile(list(range(1, 101)), 0.99) == 99
    assert samples.percentile([7], 0.99) == 7
    assert samples.percentile([], 0.5) == 0


def test_the_window_begins_with_the_first_packet():
    series = [samples.QueueSample(t * 10**9, 0, 0, sent) for t, sent in enumerate([0, 0, 5, 6, 7, 8, 9])]
    assert [s.t_ns // 10**9 for s in samples.window(series, 3)] == [2, 3, 4, 5]


def test_losses_are_explained_by_place_or_stand_out(tmp_path):
    one = load_text(tmp_path, '[host.r]\n[host.s]\n[switch.sw.queue.3]\nlossless = true\n'
                              '[traffic.x]\nfrom = "s"\nto = "r"')
    result = {"lost": {"by_dscp": {"26": 10, "48": 2, "0": 0}}, "hosts": [{"name": "r", "socket_drops": 3}],
              "cnp": {"sent": 0, "received": 0}, "goodput_mbps": 1.0, "goodput_limit_mbps": 2.0, "retransmitted": 0}
    before = counters.Snapshot(dropped={"sw:r:tc3:tail": 5})
    after = counters.Snapshot(dropped={"sw:r:tc3:tail": 11}, queued={"sw:r:tc3:queued": 1, "sw:r:tc4:queued": 0})
    built = outcome.build(one, 1, result, after.since(before), {}, {}, [])
    assert built["drops"] == {"lossless": 10, "lossy": 2}
    assert built["drops_by_place"] == {"sw:r:tc3:tail": 6, "sw:r:tc3:queued": 1, "r:socket": 3, "unexplained": 2}


@pytest.mark.parametrize("sent, index", [([5, 5, 5], 1.0), ([9, 0, 0], 0.333), ([3], None), ([0, 0], None)])
def test_fairness_is_jains_index_of_those_who_always_send(tmp_path, sent, index):
    one = load_text(tmp_path, f'[host.r]\n[host.s]\ncount = {len(sent)}\n[switch.sw]\n[traffic.x]\nfrom = "s"\nto = "r"\n'
                              'arrival = { mode = "closed" }\n[traffic.mice]\nfrom = "s"\nto = "r"\n'
                              'arrival = { mode = "poisson", load = 0.1 }')
    flows = [{"from": "s", "to": "r", "goodput_bytes": n} for n in sent] + [{"from": "s", "to": "r", "goodput_bytes": 1}] * len(sent)
    result = {"lost": {"by_dscp": {}}, "hosts": [], "cnp": {"sent": 0, "received": 0}, "goodput_mbps": 1.0,
              "goodput_limit_mbps": 2.0, "retransmitted": 0, "flows": flows}
    nothing = counters.Snapshot()
    assert outcome.build(one, 1, result, nothing.since(nothing), {}, {}, [])["fairness"] == index


def test_one_outcome_is_an_object_and_several_are_runs():
    assert outcome.document([{"a": 1}]) == {"a": 1}
    assert outcome.document([{"a": 1}, {"a": 2}]) == {"runs": [{"a": 1}, {"a": 2}]}


def test_toml_text_survives_reading():
    import tomllib
    table = {"name": 'a"b\\c', "on": True, "n": 5, "x": 0.5, "list": [1, 2], "ecn": {"kmin": 1, "26": 3}}
    assert tomllib.loads(table_text("[t]", table)) == {"t": table}


@pytest.mark.parametrize("number, text", [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (81_234, "81.2 KB"),
                                          (999_768, "1000 KB"), (1_050_000, "1.05 MB")])
def test_amounts(number, text):
    assert report.amount(number) == text


def test_wait_for_gives_up():
    with pytest.raises(WaitTimeout, match="the moon: not reached within 0.1 s"):
        wait_for(lambda: False, 0.1, "the moon")
