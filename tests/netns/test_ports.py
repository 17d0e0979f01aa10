# SPDX-License-Identifier: Apache-2.0
"""Ports and queues: the tree in the kernel, trust, scheduling, interfaces that come and go."""

import json

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

RATE = 100_000_000


def tc(sandbox, netns, *words):
    return json.loads(sandbox.run(netns, "tc", "-j", "-s", *words))


def frame(star, source, to, dscp=0, size=200, ecn=0, tags=()):
    packet = Ether(src=star.mac(source), dst=star.mac(to))
    for pcp in tags:
        packet /= Dot1Q(prio=pcp, vlan=7)
    packet = packet / IP(src=star.ip(source), dst=star.ip(to), tos=dscp << 2 | ecn) / UDP(sport=7, dport=7)
    return packet / bytes(size - len(packet))


def queues(daemon, port):
    return {q["tc"]: q for q in daemon.ctl("show", "queues", port)["queues"]}


def test_tree_is_what_tc_shows(star, sandbox):
    s = star(2)
    s.daemon(queues={"3": {"limit": "300KB"}}, port={"rate": "100mbit"})
    qdiscs = {q["handle"]: q for q in tc(sandbox, s.switch, "qdisc", "show", "dev", "h1")}
    assert qdiscs["4c00:"]["kind"] == "htb" and qdiscs["4c00:"]["root"]
    leaves = [qdiscs[f"4c0{n}:"] for n in range(1, 9)]
    assert [q["kind"] for q in leaves] == ["tbf"] * 8
    assert [q["parent"] for q in leaves] == [f"4c00:{n}" for n in range(1, 9)]
    assert "limit 300000b" in sandbox.run(s.switch, "tc", "qdisc", "show", "dev", "h1", "handle", "4c04:")
    classes = {c["handle"]: c for c in tc(sandbox, s.switch, "class", "show", "dev", "h1")}
    assert classes["4c00:ff"]["rate"] * 8 == RATE
    # Strict 7, strict 6, then the group of 0 to 5.
    assert [classes[f"4c00:{n}"]["prio"] for n in range(1, 9)] == [2] * 6 + [1, 0]


CASES = [
    ("dscp", 26, (), 3),
    ("dscp", 48, (), 6),
    ("dscp", 26, (7,), 3),
    ("dot1p", 26, (5,), 5),
    ("dot1p", 26, (), 1),
    ("port", 26, (5,), 1),
]


@pytest.mark.parametrize("trust,dscp,tags,tc_expected", CASES)
def test_trust(star, wire, wait_for, trust, dscp, tags, tc_expected):
    s = star(2)
    d = s.daemon(port={"trust": trust, "priority": 1})
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sent = [frame(s, "h1", "h2", dscp, tags=tags) for _ in range(10)]
    sender.send(*sent)
    assert len(receiver.receive(10, lambda p: UDP in p)) == 10
    assert queues(d, "h1")[tc_expected]["rx_packets"] == "10"
    wait_for(lambda: queues(d, "h2")[tc_expected]["sent_packets"] == "10", what="packets in the TC's own queue")


def test_no_ip_takes_the_port_priority(star, wire, wait_for):
    s = star(2)
    d = s.daemon(port={"trust": "dscp", "priority": 2})
    wire(s.ns["h1"], "eth0").send(*[Ether(dst=s.mac("h2"), src=s.mac("h1")) / ARP()] * 5)
    wait_for(lambda: queues(d, "h2")[2]["sent_packets"] == "5", what="ARP in TC 2")
    assert d.ctl("show", "ports", "h1")["ports"][0]["untrusted"] == "5"


def test_dscp_is_remarked_and_classified_by_the_new_value(star, sandbox, wire):
    s = star(2)
    d = sandbox.daemon(s.switch, ["h2", {"name": "h1", "maps": {"dscp_dscp": {"10": 34}}}])
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sender.send(frame(s, "h1", "h2", dscp=10, ecn=2))
    got = receiver.receive(1, lambda p: UDP in p)[0][IP]
    assert got.tos == 34 << 2 | 2
    rebuilt = got.copy()
    del rebuilt.chksum
    assert IP(bytes(rebuilt)).chksum == got.chksum
    assert queues(d, "h1")[34 // 8]["rx_packets"] == "1"
    assert d.ctl("show", "ports", "h1")["ports"][0]["remarked"] == "1"


def test_a_port_that_comes_back_is_taken_over_again(star, sandbox, wait_for):
    s = star(2)
    d = s.daemon(queues={"3": {"limit": "300KB"}})

    def port():
        return d.ctl("show", "ports", "h1")["ports"][0]

    for _ in range(3):
        sandbox.run(s.switch, "ip", "link", "del", "h1")
        wait_for(lambda: port()["state"] == "ABSENT", what="h1 absent")
        sandbox.veth((s.ns["h1"], "eth0", s.mac("h1")), (s.switch, "h1", ""))
        wait_for(lambda: port()["state"] == "ATTACHED", what="h1 attached again")
    kinds = [q["kind"] for q in tc(sandbox, s.switch, "qdisc", "show", "dev", "h1")]
    assert kinds.count("tbf") == 8
    assert d.ctl("show", "ports", "h2")["ports"][0]["state"] == "ATTACHED"


def test_a_tree_that_somebody_removes_is_put_back(star, sandbox, wait_for):
    s = star(2)
    s.daemon()
    sandbox.run(s.switch, "tc", "qdisc", "del", "dev", "h1", "root")
    wait_for(lambda: [q["kind"] for q in tc(sandbox, s.switch, "qdisc", "show", "dev", "h1")].count("tbf") == 8,
             what="the tree back in place")


def test_strict_goes_first_and_weights_share(star, wire, wait_for):
    s = star(2)
    d = s.daemon(port={"rate": "5mbit"}, queues={
        "1": {"schedule": "wrr", "group": 1, "weight": 10, "limit": "2MB"},
        "2": {"schedule": "wrr", "group": 1, "weight": 30, "limit": "2MB"}})
    sender = wire(s.ns["h1"], "eth0")
    # Three seconds' worth in both queues, then a few for the strict one.
    weighted = [bytes(frame(s, "h1", "h2", dscp=dscp, size=1000)) for dscp in (8, 16)]
    strict = bytes(frame(s, "h1", "h2", dscp=48, size=250))
    sender.send(*weighted * 1000, *[strict] * 20)

    def sent():
        q = queues(d, "h2")
        return q if int(q[1]["sent_packets"]) + int(q[2]["sent_packets"]) > 400 else None
    done = wait_for(sent, limit_s=30, what="400 packets of the weighted queues")
    assert int(done[1]["backlog_packets"]) > 0 and int(done[2]["backlog_packets"]) > 0
    share = int(done[2]["sent_bytes"]) / int(done[1]["sent_bytes"])
    assert 2.6 < share < 3.4, f"30:10 became {share:.2f}:1"
    assert done[6]["sent_packets"] == "20" and done[6]["backlog_packets"] == "0"


def test_routed_ports_keep_the_tc_of_ingress(sandbox, wire, wait_for):
    """ip_forward overwrites skb->priority: a port that trusts dot1p must still decide."""
    router, a, b = sandbox.netns("sw"), sandbox.netns("a"), sandbox.netns("b")
    mac = "02:00:0a:0b:01:01"
    sandbox.veth((a, "eth0", ""), (router, "p1", mac))
    sandbox.veth((b, "eth0", "02:00:0a:0b:02:02"), (router, "p2", ""))
    for command in (("ip", "addr", "add", "10.1.0.1/24", "dev", "p1"), ("ip", "addr", "add", "10.2.0.1/24", "dev", "p2"),
                    ("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0"),
                    ("ip", "neigh", "add", "10.2.0.2", "lladdr", "02:00:0a:0b:02:02", "dev", "p2")):
        sandbox.run(router, *command)
    d = sandbox.daemon(router, [{"name": "p1", "trust": "port", "priority": 4}, {"name": "p2", "trust": "dscp"}])
    packet = Ether(dst=mac) / IP(src="10.1.0.2", dst="10.2.0.2", tos=26 << 2) / UDP() / bytes(50)
    wire(a, "eth0").send(*[packet] * 5)
    wait_for(lambda: queues(d, "p2")[4]["sent_packets"] == "5", what="routed packets in the TC of their ingress port")


def test_namespace_tools_see_no_difference_after_detach(star, sandbox):
    s = star(2)
    before = sandbox.run(s.switch, "tc", "qdisc", "show")
    d = s.daemon()
    assert sandbox.run(s.switch, "tc", "qdisc", "show") != before
    assert d.run_ctl("detach", "--all").returncode == 0
    assert sandbox.run(s.switch, "tc", "qdisc", "show") == before
