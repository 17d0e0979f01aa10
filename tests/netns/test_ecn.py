# SPDX-License-Identifier: Apache-2.0
"""ECN marking of packets that really cross the switch; scapy judges what arrives, not our own code."""

import json
import socket
import threading

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from vethlab.namespaces import in_namespace

TC = 3
DSCP = 26
NOT_ECT, ECT1, ECT0, CE = range(4)
# A slow port, so that a burst stays in the queue, and thresholds that all of the burst but its start exceed.
SLOW = {"rate": "1mbit"}
ALWAYS = {"kmin": "1KB", "kmax": "2KB", "pmax": 1.0}


def roce(star, ecn, to="h2", version=4, tags=(), size=400, psn=0):
    packet = Ether(src=star.mac("h1"), dst=star.mac(to))
    for tag in tags:
        packet /= tag
    if version == 4:
        packet /= IP(src=star.ip("h1"), dst=star.ip("h2"), tos=DSCP << 2 | ecn, id=psn & 0xffff, flags="DF")
    else:
        packet /= IPv6(src="fd00::1", dst="fd00::2", tc=DSCP << 2 | ecn)
    packet = packet / UDP(sport=0xc000, dport=4791, chksum=0) / BTH(opcode="RC_SEND_ONLY", dqpn=0x11, psn=psn)
    return packet / Raw(bytes(size))


def ip_of(packet):
    return packet[IP] if IP in packet else packet[IPv6]


def ecn_of(packet):
    ip = ip_of(packet)
    return (ip.tos if IP in packet else ip.tc) & 3


def check_integrity(packet, sent):
    """Checksum and ICRC as scapy works them out, and everything but the ECN field as sent."""
    again = Ether(bytes(packet))
    if IP in again:
        del again[IP].chksum
    icrc = again[BTH].icrc
    del again[BTH].icrc
    rebuilt = Ether(bytes(again))
    assert rebuilt[BTH].icrc == icrc, "ICRC"
    if IP in packet:
        assert rebuilt[IP].chksum == packet[IP].chksum, "IPv4 checksum"
    assert bytes(packet[UDP]) == bytes(Ether(bytes(sent))[UDP])


def ecn(daemon, port="h2", tc=TC):
    queue = [q for q in daemon.ctl("show", "ecn", port)["queues"] if q["tc"] == tc][0]
    return {k: int(v) for k, v in queue.items() if isinstance(v, str) and v.isdigit()}


def send_burst(wires, star, ecn_field, count=60, **kind):
    sender, receiver = wires
    sent = [roce(star, ecn_field, psn=i, **kind) for i in range(count)]
    sender.send(*sent)
    return sent, receiver.receive(count, lambda p: BTH in p, limit_s=15)


KINDS = {
    "ipv4": {},
    "ipv6": {"version": 6},
    "vlan": {"tags": (Dot1Q(vlan=5, prio=2),)},
    "vlan ipv6": {"tags": (Dot1Q(vlan=5, prio=2),), "version": 6},
    "qinq": {"tags": (Dot1AD(vlan=6), Dot1Q(vlan=5))},
    "qinq ipv6": {"tags": (Dot1AD(vlan=6), Dot1Q(vlan=5)), "version": 6},
}


@pytest.mark.parametrize("kind", KINDS)
def test_marks_arrive_whole(star, wire, kind):
    s = star(2)
    d = s.daemon(port=SLOW, queues={str(TC): {"ecn": ALWAYS}})
    wires = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    for field in (ECT0, ECT1):
        sent, got = send_burst(wires, s, field, **KINDS[kind])
        assert len(got) == len(sent)
        marked = [p for p in got if ecn_of(p) == CE]
        assert len(marked) > 30
        assert {ecn_of(p) for p in got} <= {field, CE}
        for packet, original in zip(got, sent):
            check_integrity(packet, original)
            assert bytes(packet)[:len(packet) - len(ip_of(packet))] == bytes(original)[:len(original) - len(ip_of(original))]
    counters = ecn(d)
    assert counters["ect0"] == counters["ect1"] == 60
    assert counters["selected"] == counters["marked"] > 60


def test_not_ect_in_a_lossy_tc_is_dropped_and_counted(star, wire):
    s = star(2)
    d = s.daemon(port=SLOW, queues={str(TC): {"ecn": ALWAYS}})
    wires = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sender, receiver = wires
    sender.send(*[roce(s, NOT_ECT, psn=i) for i in range(60)])
    passed = 60 - ecn(d)["dropped"]
    got = receiver.receive(passed, lambda p: BTH in p)
    assert len(got) == passed < 20 and not receiver.receive(1, lambda p: BTH in p, limit_s=0.2)
    assert all(ecn_of(p) == NOT_ECT for p in got), "Not-ECT must never become CE"


def test_not_ect_in_a_lossless_tc_passes(star, wire):
    s = star(2)
    d = s.daemon(port=SLOW, queues={str(TC): {"ecn": ALWAYS, "lossless": True}})
    wires = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sent, got = send_burst(wires, s, NOT_ECT)
    assert len(got) == len(sent) and all(ecn_of(p) == NOT_ECT for p in got)
    counters = ecn(d)
    assert counters["spared"] == counters["selected"] > 30 and counters["dropped"] == 0


def test_ce_passes_and_is_counted_apart(star, wire):
    s = star(2)
    d = s.daemon(port=SLOW, queues={str(TC): {"ecn": ALWAYS}})
    wires = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sent, got = send_burst(wires, s, CE)
    assert [bytes(p) for p in got] == [bytes(p) for p in sent]
    counters = ecn(d)
    assert counters["already_ce"] == counters["selected"] > 30 and counters["marked"] == 0


def test_flooded_copies_are_marked_each_on_its_own(star, wire):
    """The bridge floods clones that share one header: a mark on one port must not show on another."""
    s = star(4)
    d = s._sandbox.daemon(s.switch, [{"name": "h1"}, {"name": "h2", **SLOW}, {"name": "h3"}, {"name": "h4", **SLOW}],
                          {str(TC): {"ecn": ALWAYS}})
    d.ctl("set", "ecn", "h3", str(TC), "enabled=off")
    sender = wire(s.ns["h1"], "eth0")
    receivers = {h: wire(s.ns[h], "eth0") for h in ("h2", "h3", "h4")}
    sent = []
    for i in range(60):
        packet = roce(s, ECT0, psn=i)
        packet.dst = "02:ff:ff:ff:ff:01"  # nobody's: flooded
        sent.append(packet)
    sender.send(*sent)
    got = {h: w.receive(60, lambda p: BTH in p, limit_s=15) for h, w in receivers.items()}
    assert {h: len(p) for h, p in got.items()} == {"h2": 60, "h3": 60, "h4": 60}
    assert all(ecn_of(p) == ECT0 for p in got["h3"])
    for host in ("h2", "h4"):
        assert sum(ecn_of(p) == CE for p in got[host]) == ecn(d, host)["marked"] > 30
        assert ecn(d, host)["failed"] == 0
        for packet, original in zip(got[host], sent):
            check_integrity(packet, original)


def test_gso_packets_of_tcp_are_marked_by_segment(star, sandbox, wait_for):
    """Two TCP stacks with ECN and segmentation offload: what h2 saw as CE is what the switch marked."""
    s = star(2)
    for host in ("h1", "h2"):
        sandbox.run(s.ns[host], "ip", "addr", "add", f"{s.ip(host)}/24", "dev", "eth0")
        sandbox.run(s.ns[host], "sysctl", "-qw", "net.ipv4.tcp_ecn=1")
    # TCP's ToS is 0 here, so its packets are in TC 0.
    d = s.daemon(port={"rate": "100mbit"}, queues={"0": {"limit": "4MB", "ecn": {"kmin": "60KB", "kmax": "120KB", "pmax": 1.0}}})
    server = in_namespace(s.ns["h2"], socket.socket)
    server.bind((s.ip("h2"), 5001))
    server.listen()
    client = in_namespace(s.ns["h1"], socket.socket)
    client.connect((s.ip("h2"), 5001))
    accepted, _ = server.accept()
    total = 4_000_000
    sending = threading.Thread(target=lambda: (client.sendall(bytes(total)), client.close()))
    sending.start()
    received = 0
    accepted.settimeout(20)
    while chunk := accepted.recv(1 << 20):
        received += len(chunk)
    sending.join()
    accepted.close()
    server.close()
    assert received == total
    counters = ecn(d, "h2", 0)
    assert counters["marked"] > 20 and counters["failed"] == counters["dropped"] == 0

    def seen_ce():
        rows = [line.split() for line in sandbox.run(s.ns["h2"], "cat", "/proc/net/netstat").splitlines()
                if line.startswith("IpExt:")]
        return int(dict(zip(*rows))["InCEPkts"])
    wait_for(lambda: seen_ce() == ecn(d, "h2", 0)["marked"], what="h2 saw as many CE packets as were marked")


def test_set_ecn_changes_the_running_programs(star, sandbox, wire):
    s = star(2)
    d = s.daemon(port=SLOW, queues={str(TC): {"ecn": {"kmin": "500KB", "kmax": "600KB", "pmax": 1.0}}})
    wires = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")

    def programs():
        return json.loads(sandbox.run(s.switch, "bpftool", "-j", "net", "show"))[0]["tc"]
    before = programs()
    assert len(before) == 4
    _, got = send_burst(wires, s, ECT0)
    assert all(ecn_of(p) == ECT0 for p in got)
    reply = d.ctl("set", "ecn", "h2", str(TC), "kmin=1KB", "kmax=2KB")["ecn"]
    assert (reply["kmin_bytes"], reply["kmax_bytes"], reply["pmax"]) == ("1000", "2000", 1.0)
    _, got = send_burst(wires, s, ECT0)
    assert sum(ecn_of(p) == CE for p in got) > 30
    assert programs() == before, "the programs were exchanged for a change of thresholds"


@pytest.mark.parametrize("words,says", [
    (("kmin=3KB",), "kmax"), (("kmax=2GB",), "kmax"), (("pmax=1.5",), "pmax"), (("pmax=nan",), "pmax"),
    (("kmin=-1",), "kmin"), (("kmim=1KB",), "kmin"), (("ewma=99",), "ewma"),
])
def test_set_ecn_refuses_and_changes_nothing(star, words, says):
    s = star(2)
    d = s.daemon(queues={str(TC): {"ecn": ALWAYS}})
    before = d.ctl("show", "ecn")
    done = d.run_ctl("set", "ecn", "h2", str(TC), *words)
    assert done.returncode in (1, 2) and says in done.stderr, done.stderr
    assert d.ctl("show", "ecn") == before


def test_averaged_depth_follows_the_queue_late(star, wire):
    s = star(2)
    d = s.daemon(port=SLOW, queues={str(TC): {"ecn": {**ALWAYS, "ewma": 6}}})
    wires = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    _, got = send_burst(wires, s, ECT0)
    averaged = sum(ecn_of(p) == CE for p in got)
    d.ctl("set", "ecn", "h2", str(TC), "ewma=0")
    _, got = send_burst(wires, s, ECT0)
    assert 0 < averaged < sum(ecn_of(p) == CE for p in got)
