# SPDX-License-Identifier: Apache-2.0
"""IPCC on real namespaces: CNPs of the switch, checked by scapy."""

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from roce_packets import cm, icrc_is_right, is_cnp, packet, sport

QP1, QP2 = 0x111, 0x222
PORT = sport(QP1, QP2)
# 1 Mbit/s: what is sent at once stays in the queue for seconds.
QUEUES = {"3": {"limit": "1MB", "ipcc": {"low": "3KB", "high": "6KB", "few": "2KB", "many": "1KB", "interval_us": 1}}}


@pytest.fixture
def switch(star):
    s = star(2)
    return s, s.daemon(queues=QUEUES, port={"rate": "1mbit"}, tables={"roce": {"cnp_limit": 100000}})


def connect(s, wire, ip=None):
    a, b = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    back = ip and ip[::-1]
    a.send(cm(s, "h1", "h2", 0x10, 7, qpn=QP1, ip=ip))
    assert b.receive(1, lambda p: UDP in p)
    b.send(cm(s, "h2", "h1", 0x13, 8, 7, qpn=QP2, ip=back))
    assert a.receive(1, lambda p: UDP in p)
    return a, b


def row(daemon):
    (found,) = [q for q in daemon.ctl("show", "ipcc", "h2")["queues"] if q["tc"] == 3]
    return found


@pytest.mark.parametrize("tagged", [False, True])
@pytest.mark.parametrize("ip", [None, ("2001:db8::1", "2001:db8::2")])
def test_cnps_are_what_a_receiver_would_send(switch, wire, ip, tagged):
    s, d = switch
    a, _ = connect(s, wire, ip)
    vlan = Dot1Q(vlan=100, prio=3) if tagged else None
    a.send(*[packet(s, "h1", "h2", QP2, PORT, psn=i, ip=ip, vlan=vlan) for i in range(60)])
    cnps = a.receive(5, is_cnp)
    assert len(cnps) == 5
    for cnp in cnps:
        assert cnp[BTH].dqpn == QP1 and cnp[BTH].becn == 1 and cnp[BTH].fecn == 0
        assert icrc_is_right(cnp)
        assert (cnp[Ether].src, cnp[Ether].dst) == (s.mac("h2"), s.mac("h1"))
        network = cnp[IPv6] if ip else cnp[IP]
        assert (network.src, network.dst) == (ip or (s.ip("h1"), s.ip("h2")))[::-1]
        assert (network.tc if ip else network.tos) == 48 << 2
        assert cnp[UDP].sport == PORT and cnp[UDP].dport == 4791
        assert (Dot1Q in cnp) == tagged
        if tagged:
            assert (cnp[Dot1Q].vlan, cnp[Dot1Q].prio) == (100, 6)
    assert int(row(d)["sent_few"]) + int(row(d)["sent_many"]) >= 5
    assert row(d)["failed"] == "0"
    flow = [f for f in d.ctl("show", "flows")["flows"] if f["qp"] == QP2][0]
    assert flow["cnps_sent"] >= 5


def test_without_a_pair_no_cnp_and_it_is_counted(switch, wire, wait_for):
    s, d = switch
    a = wire(s.ns["h1"], "eth0")
    a.send(*[packet(s, "h1", "h2", QP2, PORT, psn=i) for i in range(60)])
    wait_for(lambda: int(row(d)["unpaired"]) > 0, what="unpaired packets")
    assert int(row(d)["sent_few"]) + int(row(d)["sent_many"]) == 0
    assert a.receive(1, is_cnp, 0.2) == []


def test_a_short_queue_sends_none(switch, wire):
    s, d = switch
    a, b = connect(s, wire)
    for psn in range(5):
        a.send(packet(s, "h1", "h2", QP2, PORT, psn=psn))
        assert b.receive(1, lambda p: BTH in p)
    assert a.receive(1, is_cnp, 0.2) == []
    assert row(d)["now"] == "idle"


def test_limits_of_flow_and_port(star, wire, wait_for):
    s = star(2)
    queue = {"3": {"limit": "1MB", "ipcc": {**QUEUES["3"]["ipcc"], "interval_us": 1000000}}}
    d = s.daemon(queues=queue, port={"rate": "1mbit"})
    a, _ = connect(s, wire)
    a.send(*[packet(s, "h1", "h2", QP2, PORT, psn=i) for i in range(100)])
    wait_for(lambda: int(row(d)["flow_limit"]) > 3, what="the flow's limit")
    assert len(a.receive(5, is_cnp, 0.3)) <= 2


def test_the_table_and_what_is_configured(switch):
    _, d = switch
    text = d.run_ctl("show", "ipcc").stdout
    assert "3KB" in text and "6KB" in text
    assert row(d)["interval_us"] == "1" and row(d)["cnp_limit"] == 100000
