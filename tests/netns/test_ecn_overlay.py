# SPDX-License-Identifier: Apache-2.0
"""ECN Overlay with Linux's own VXLAN devices: what really comes out of a VTEP, at both ends of the tunnel.

    peer (raw frames) --- u0 [VTEP: vxlan4, vxlan6 --- br0 --- acc] --- eth0 host
"""

import itertools

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

NOT_ECT, ECT1, ECT0, CE = range(4)
# RFC 6040 section 4.2, figure 4: by (inner, outer), all others keep the inner field.
CHANGED = {(NOT_ECT, CE): None, (ECT0, ECT1): ECT1, (ECT0, CE): CE, (ECT1, CE): CE}
FIELDS = ("not-ect", "ect1", "ect0", "ce")
HOST, FAR = "02:00:00:00:00:01", {4: "02:00:00:00:00:44", 6: "02:00:00:00:00:66"}  # FAR: behind the peer
PEER, VTEP = "02:00:00:00:01:01", "02:00:00:00:01:02"
ADDRESS = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}  # of peer and VTEP
INNER = {4: ("10.1.0.1", "10.1.0.2"), 6: ("fd01::1", "fd01::2")}
VNI = {4: 44, 6: 66}
DSCP = 26


class Vtep:
    def __init__(self, sandbox, wire):
        self.ns, peer, host = sandbox.netns("vtep"), sandbox.netns("peer"), sandbox.netns("host")
        sandbox.veth((peer, "eth0", PEER), (self.ns, "u0", VTEP), 1600)
        sandbox.veth((host, "eth0", HOST), (self.ns, "acc", ""))
        self._underlay(lambda *command: sandbox.run(self.ns, *command))
        sandbox.bridge(self.ns, ["acc", "vxlan4", "vxlan6"], flood=False)
        for version, mac in FAR.items():
            sandbox.run(self.ns, "bridge", "fdb", "replace", mac, "dev", f"vxlan{version}", "master", "static")
        sandbox.run(self.ns, "bridge", "fdb", "replace", HOST, "dev", "acc", "master", "static")
        self.daemon = sandbox.daemon(self.ns, ["u0", "acc"], {"3": {"lossless": True}},
                                     tables={"ecn_overlay": {"enabled": True}})
        self.peer, self.host = wire(peer, "eth0"), wire(host, "eth0")

    @staticmethod
    def _underlay(run):
        run("sysctl", "-qw", "net.ipv6.conf.u0.disable_ipv6=0")
        run("ip", "address", "add", "192.0.2.2/24", "dev", "u0")
        run("ip", "address", "add", "2001:db8::2/64", "dev", "u0", "nodad")
        for version, (remote, local) in ADDRESS.items():
            run("ip", "neigh", "replace", remote, "lladdr", PEER, "nud", "permanent", "dev", "u0")
            run("ip", "link", "add", f"vxlan{version}", "type", "vxlan", "id", str(VNI[version]), "local", local,
                "remote", remote, "dev", "u0", "dstport", "4789", "nolearning")
            run("ip", "link", "set", f"vxlan{version}", "up")

    def counters(self, port="u0"):
        return self.daemon.ctl("show", "ecn-overlay", port)["ports"][0]


@pytest.fixture
def vtep(sandbox, wire):
    return Vtep(sandbox, wire)


def network(version, tos, src, dst):
    return IP(src=src, dst=dst, tos=tos, ttl=64) if version == 4 else IPv6(src=src, dst=dst, tc=tos)


def inner_frame(version, tagged, ecn, src, dst, number):
    frame = Ether(src=src, dst=dst)
    if tagged:
        frame /= Dot1Q(vlan=100)
    return frame / network(version, DSCP << 2 | ecn, *INNER[version]) / UDP(sport=5000, dport=number) / Raw(bytes(20))


def tos_of(packet):
    """ToS octets, the outermost first."""
    found = []
    while packet:
        if isinstance(packet, (IP, IPv6)):
            found.append(packet.tos if isinstance(packet, IP) else packet.tc)
        packet = packet.payload
    return found


def numbered(packets):
    """By the port number of the innermost UDP header."""
    return {p[VXLAN][UDP].dport if VXLAN in p else p[UDP].dport: p for p in packets}


def test_all_combinations_leave_the_tunnel_as_rfc6040_says(vtep):
    cases = list(itertools.product((4, 6), (4, 6), (False, True), range(4), range(4)))
    frames = []
    for number, (outer, inner, tagged, inside, outside) in enumerate(cases, start=1):
        frames.append(Ether(src=PEER, dst=VTEP) / network(outer, outside, *ADDRESS[outer]) / UDP(sport=50000, dport=4789) /
                      VXLAN(flags=8, vni=VNI[outer]) / inner_frame(inner, tagged, inside, FAR[outer], HOST, number))
    vtep.peer.send(*frames)
    arrive = sum((inside, outside) != (NOT_ECT, CE) for _, _, _, inside, outside in cases)
    got = numbered(vtep.host.receive(arrive, lambda p: UDP in p and p[UDP].sport == 5000))
    for number, (outer, inner, tagged, inside, outside) in enumerate(cases, start=1):
        case = f"v{outer} {FIELDS[outside]} over v{inner} {FIELDS[inside]} {'tagged' if tagged else 'untagged'}"
        expected = CHANGED.get((inside, outside), inside)
        if expected is None:
            assert number not in got, case
            continue
        assert number in got, case
        assert tos_of(got[number]) == [DSCP << 2 | expected], case
        assert (Dot1Q in got[number]) == tagged, case
    counters = vtep.counters()
    for inside, outside in itertools.product(range(4), range(4)):
        row = next(r for r in counters["left"] if r["inner"] == FIELDS[inside])
        assert row["outer"][FIELDS[outside].replace("-", "_")] == "8"
    assert (counters["dropped"], counters["failed"], counters["bad"]) == ("8", "0", "0")
    text = vtep.daemon.run_ctl("show", "ecn-overlay").stdout
    assert "192.0.2.2" in text and "2001:db8::2" in text


def test_marks_and_class_are_carried_into_the_tunnel(vtep):
    cases = list(itertools.product((4, 6), (4, 6), (False, True), range(4)))
    vtep.host.send(*(inner_frame(inner, tagged, ecn, HOST, FAR[outer], number)
                     for number, (outer, inner, tagged, ecn) in enumerate(cases, start=1)))
    got = numbered(vtep.peer.receive(len(cases), lambda p: VXLAN in p and UDP in p[VXLAN] and p[VXLAN][UDP].sport == 5000))
    for number, (outer, inner, tagged, ecn) in enumerate(cases, start=1):
        case = f"v{outer} over v{inner} {FIELDS[ecn]} {'tagged' if tagged else 'untagged'}"
        assert number in got, case
        assert tos_of(got[number]) == [DSCP << 2 | ecn, DSCP << 2 | ecn], case
    counters = vtep.counters()
    assert counters["entered"] == {"not_ect": "8", "ect1": "8", "ect0": "8", "ce": "8"}
    assert int(counters["corrected"]) >= 8  # every CE at least: Linux writes ECT(0)
    assert counters["carried"] == "32"


def test_off_by_port_and_by_the_table(vtep):
    frame = Ether(src=PEER, dst=VTEP) / network(4, CE, *ADDRESS[4]) / UDP(sport=50000, dport=4789) / \
        VXLAN(flags=8, vni=44) / inner_frame(4, True, ECT0, FAR[4], HOST, 9)

    def arrives():
        vtep.peer.send(frame)
        return tos_of(vtep.host.receive(1, lambda p: UDP in p and p[UDP].dport == 9)[0])[0] & 3

    assert arrives() == CE
    for ports, tables in (([{"name": "u0", "ecn_overlay": False}, {"name": "acc"}], {"ecn_overlay": {"enabled": True}}),
                          ([{"name": "u0"}, {"name": "acc"}], {"ecn_overlay": {"enabled": True, "port": 8472}}),
                          ([{"name": "u0"}, {"name": "acc"}], {})):
        vtep.daemon.configure({}, ports, tables=tables)
        assert vtep.daemon.run_ctl("reload").returncode == 0
        assert arrives() == ECT0, "what Linux alone makes of a tagged frame"
    assert "off" in vtep.daemon.run_ctl("show", "ecn-overlay").stdout
