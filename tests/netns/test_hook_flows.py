# SPDX-License-Identifier: Apache-2.0
"""Hook flows on a bridge and on a router: what goes out is what scapy would have made."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

from vethlab import namespaces

DSCP, NEW_DSCP, OTHER_DSCP = 26, 34, 10
TC, NEW_TC, PCP = 3, 4, 5
ECT0 = 2
QUEUES = {str(tc): {"lossless": True} for tc in (TC, NEW_TC)}
RULES = [{"dscp": [DSCP], "to_dscp": NEW_DSCP, "tc": NEW_TC, "dot1p": PCP}]
GROUP = {"uplinks": ["h1", "h2"]}


@pytest.fixture
def switch(star):
    s = star(3)
    return s, s.daemon(queues=QUEUES, groups=GROUP, hook_flows=RULES)


def tags(kind, pcp):
    if kind == "vlan":
        return Dot1Q(vlan=100, prio=pcp, id=1)
    if kind == "qinq":
        return Dot1AD(vlan=10, prio=pcp) / Dot1Q(vlan=20, prio=2)
    return None


def packet(star, to="h2", version=4, kind="", dscp=DSCP, pcp=3, sport=1):
    frame = Ether(src=star.mac("h1"), dst=star.mac(to))
    if tag := tags(kind, pcp):
        frame /= tag
    tos = dscp << 2 | ECT0
    network = IP(tos=tos, src="192.0.2.1", dst="198.51.100.2", id=7) if version == 4 else \
        IPv6(tc=tos, src="2001:db8::1", dst="2001:db8::2", fl=0x12345)
    return Ether(bytes(frame / network / UDP(sport=sport, dport=9) / (b"x" * 100)))


def is_ours(p):
    return UDP in p and p[UDP].dport == 9


def flows(daemon):
    return daemon.ctl("show", "pfc", "hook-flows")["flows"]


@pytest.mark.parametrize("kind", ["", "vlan", "qinq"])
@pytest.mark.parametrize("version", [4, 6])
def test_what_goes_out_is_what_scapy_would_have_made(switch, wire, version, kind):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sender.send(packet(s, version=version, kind=kind))
    got = receiver.receive(1, is_ours)
    assert [bytes(p) for p in got] == [bytes(packet(s, version=version, kind=kind, dscp=NEW_DSCP, pcp=PCP))]
    if version == 4:
        given = got[0][IP].chksum
        del got[0][IP].chksum
        assert Ether(bytes(got[0]))[IP].chksum == given
    (flow,) = flows(d)
    assert (flow["ingress"], flow["egress"], flow["dscp"], flow["new_dscp"], flow["tc"], flow["moved"]) == \
        ("h1", "h2", DSCP, NEW_DSCP, NEW_TC, True)
    assert flow["source"] == ("192.0.2.1" if version == 4 else "2001:db8::1")
    sent = {q["tc"]: int(q["sent_packets"]) for q in d.ctl("show", "queues", "h2")["queues"]}
    assert (sent[TC], sent[NEW_TC]) == (0, 1)


def test_only_inside_the_group_and_by_rule(switch, wire):
    s, d = switch
    sender, inside, outside = (wire(s.ns[h], "eth0") for h in ("h1", "h2", "h3"))
    sender.send(packet(s, to="h3"), packet(s, dscp=OTHER_DSCP))
    assert [bytes(p) for p in outside.receive(1, is_ours)] == [bytes(packet(s, to="h3"))]
    assert [bytes(p) for p in inside.receive(1, is_ours)] == [bytes(packet(s, dscp=OTHER_DSCP))]
    reply = d.ctl("show", "pfc", "hook-flows")
    assert [(f["dscp"], f["moved"]) for f in reply["flows"]] == [(OTHER_DSCP, False)]
    assert (int(reply["moved"]), int(reply["other"]), int(reply["failed"])) == (0, 1, 0)
    assert reply["groups"] == [{"name": "uplinks", "ports": GROUP["uplinks"]}]


def test_an_alarm_in_the_log_and_a_table(switch, wire, wait_for):
    s, d = switch
    assert "hook flows:" not in d.log.read_text()
    wire(s.ns["h1"], "eth0").send(packet(s), packet(s))
    wait_for(lambda: "hook flows:" in d.log.read_text(), what="the alarm")
    text = d.run_ctl("show", "pfc", "hook-flows").stdout
    assert "2 moved" in text and "198.51.100.2" in text
    assert d.run_ctl("show", "pfc", "h1").returncode == 0, "show pfc IF is as before"


def test_a_reload_changes_groups_and_rules(switch, wire):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    ports = [{"name": h} for h in s.hosts]
    d.configure(QUEUES, ports, {"uplinks": ["h1", "h3"]}, RULES)
    changes = d.ctl("reload")["changes"]
    assert [c["path"] for c in changes] == ["port_group.uplinks"]
    sender.send(packet(s, sport=2))
    assert bytes(receiver.receive(1, is_ours)[0]) == bytes(packet(s, sport=2))
    d.configure(QUEUES, ports, GROUP, [{**RULES[0], "to_dscp": 36}])
    d.ctl("reload")
    sender.send(packet(s, sport=3))
    assert receiver.receive(1, is_ours)[0][IP].tos >> 2 == 36


def test_a_router_too(sandbox, wire):
    """Routing sets the packet's priority from its ToS: the rule must still see where it came from."""
    router, a, b = (sandbox.netns(n) for n in ("router", "a", "b"))
    sandbox.veth((a, "eth0", "02:00:00:00:00:0a"), (router, "a", "02:00:00:00:01:0a"))
    sandbox.veth((b, "eth0", "02:00:00:00:00:0b"), (router, "b", "02:00:00:00:01:0b"))
    namespaces.ip_batch(["addr add 192.0.2.254/24 dev a", "addr add 198.51.100.254/24 dev b",
                         "neigh add 198.51.100.2 lladdr 02:00:00:00:00:0b dev b"], netns=router)
    sandbox.run(router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    d = sandbox.daemon(router, ["a", "b"], QUEUES, groups={"uplinks": ["a", "b"]}, hook_flows=RULES)
    sender, receiver = wire(a, "eth0"), wire(b, "eth0")
    frame = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:01:0a") / IP(
        tos=DSCP << 2 | ECT0, src="192.0.2.1", dst="198.51.100.2", ttl=9) / UDP(sport=1, dport=9) / (b"x" * 100)
    sender.send(frame)
    (got,) = receiver.receive(1, is_ours)
    assert (got[IP].tos, got[IP].ttl) == (NEW_DSCP << 2 | ECT0, 8)
    given = got[IP].chksum
    del got[IP].chksum
    assert Ether(bytes(got))[IP].chksum == given
    sent = {q["tc"]: int(q["sent_packets"]) for q in d.ctl("show", "queues", "b")["queues"]}
    assert sent[NEW_TC] == 1
