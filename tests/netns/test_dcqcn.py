# SPDX-License-Identifier: Apache-2.0
"""Host mode on a kernel of any kind: CNPs end at the port, nothing strange gets through to an RDMA stack, and what
this kernel cannot do is said. With a real RDMA stack: tests/vm/cases/test_rxe.py."""

import pytest
from scapy.contrib.roce import BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

ON = {"": {"role": "host"}, "dcqcn": {"enabled": True}}


@pytest.fixture
def pair(sandbox, wire):
    host, far = sandbox.netns("host"), sandbox.netns("far")
    sandbox.veth((host, "eth0", "02:00:00:00:00:02"), (far, "eth0", "02:00:00:00:00:01"))
    daemon = sandbox.daemon(host, ["eth0"], tables=ON)
    return daemon, wire(far, "eth0"), wire(host, "eth0")


def frame(above, number, tos=26 << 2 | 2):
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / \
        IP(src="10.0.0.1", dst="10.0.0.2", tos=tos, id=number) / UDP(sport=0xc001, dport=4791, chksum=0) / above


def data(opcode=0x0a, ecn=2, number=1):
    return frame(BTH(opcode=opcode, dqpn=0x11, psn=number) / Raw(bytes(64)), number, 26 << 2 | ecn)


def port(daemon):
    return daemon.ctl("show", "dcqcn")["ports"][0]


def test_cnps_and_unknown_opcodes_end_at_the_port(pair, wait_for):
    daemon, far, host = pair
    far.send(frame(cnp(dqpn=0x11), 7, tos=48 << 2), data(opcode=0xff), data(opcode=0x1f), data(ecn=3), data(number=9))
    # A packet socket sees frames before the port's programs do: what the stack gets, the counters tell.
    wait_for(lambda: int(port(daemon)["np_ecn_marked_roce_packets"]) == 1, what="the marked packet")
    shown = port(daemon)
    assert shown["dropped"]["opcode"] == "2"
    assert int(shown["rp_cnp_ignored"]) == 1 and shown["rp_cnp_handled"] == "0", "nobody knows that QP"
    assert shown["np_no_peer"] == "1" and shown["np_cnp_sent"] == "0", "and a CNP for it would be a guess"
    assert len(host.receive(5, lambda p: UDP in p)) == 5


def test_a_cnp_with_a_wrong_icrc_is_no_cnp(pair, wait_for):
    daemon, far, _ = pair
    broken = bytearray(bytes(frame(cnp(dqpn=0x11), 7)))
    broken[-1] ^= 1
    far.send(bytes(broken))
    wait_for(lambda: port(daemon)["dropped"]["icrc"] == "1", what="the CNP")
    assert port(daemon)["rp_cnp_ignored"] == "0"


def test_what_is_in_force_is_shown(pair):
    daemon, _, _ = pair
    shown = daemon.ctl("show", "dcqcn")
    fq = next(c for c in daemon.ctl("show", "capabilities")["kernel"] if c["name"] == "fq")
    assert shown["enabled"] and shown["np"] and shown["guard"]
    assert shown["rp"] == fq["available"]
    assert ("fq" in shown["rp_reason"]) != fq["available"]
    assert shown["parameters"]["rpg_time_reset_us"] == 300 and shown["parameters"]["dce_tcp_g"] == 4
    text = daemon.run_ctl("show", "dcqcn").stdout
    for word in ("np_cnp_sent", "rp_cnp_handled", "min_time_between_cnps", "rpg_ai_rate"):
        assert word in text, text


def test_off_by_reload(pair, wait_for):
    daemon, far, _ = pair
    daemon.configure({}, [{"name": "eth0"}], tables={"": {"role": "host"}})
    assert daemon.run_ctl("reload").returncode == 0
    assert not daemon.ctl("show", "dcqcn")["enabled"]
    assert "off" in daemon.run_ctl("show", "dcqcn").stdout
    before = port(daemon)
    far.send(data(ecn=3), data(opcode=0xff))
    classes = lambda: int(daemon.ctl("show", "queues", "eth0")["queues"][3]["rx_packets"])  # noqa: E731
    wait_for(lambda: classes() >= 2, what="both packets behind the port's programs")
    assert port(daemon) == before
