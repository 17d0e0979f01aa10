# SPDX-License-Identifier: Apache-2.0
"""VXLAN packets for make_goldens.py: every combination of ECN fields on both levels, of IP versions, tags of
the inner frame and UDP checksum. Each expected packet is built from scratch, checksums and all, by scapy."""
import itertools

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

NOT_ECT, ECT1, ECT0, CE = range(4)
NAMES = ("not_ect", "ect1", "ect0", "ce")
# RFC 6040 section 4.2, figure 4: rows the inner field, columns the outer one.
OUTGOING = {
    NOT_ECT: {NOT_ECT: NOT_ECT, ECT0: NOT_ECT, ECT1: NOT_ECT, CE: None},
    ECT0: {NOT_ECT: ECT0, ECT0: ECT0, ECT1: ECT1, CE: CE},
    ECT1: {NOT_ECT: ECT1, ECT0: ECT1, ECT1: ECT1, CE: CE},
    CE: {NOT_ECT: CE, ECT0: CE, ECT1: CE, CE: CE},
}
TAGS = {"untagged": (), "vlan": (Dot1Q(vlan=100, prio=3),), "QinQ": (Dot1Q(vlan=10, prio=5), Dot1Q(vlan=20, prio=2))}
MARKED_DSCP, PLAIN_DSCP = 26, 0  # the first one is carried out by the test's row, the other is not
VTEPS = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8::1", "2001:db8::2")}


def network(version, tos, src, dst):
    return IP(src=src, dst=dst, tos=tos, ttl=64, flags="DF", id=0x4242) if version == 4 else \
        IPv6(src=src, dst=dst, tc=tos, fl=0x12345, hlim=64)


def inner_frame(version, tags, tos):
    frame = Ether(src="02:00:00:00:00:11", dst="02:00:00:00:00:12")
    for tag in tags:
        frame /= tag.copy()
    addresses = ("10.1.0.1", "10.1.0.2") if version == 4 else ("fd01::1", "fd01::2")
    return frame / network(version, tos, *addresses) / UDP(sport=49152, dport=7) / Raw(b"overlay!" * 3)


def tunnelled(outer, inner, tags, outer_tos, inner_tos, checked):
    udp = UDP(sport=50000, dport=4789) if checked else UDP(sport=50000, dport=4789, chksum=0)
    return bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / network(outer, outer_tos, *VTEPS[outer]) /
                 udp / VXLAN(flags=8, vni=42) / inner_frame(inner, tags, inner_tos))


def shapes():
    for (name, tags), outer, inner, checked in itertools.product(TAGS.items(), (4, 6), (4, 6), (False, True)):
        yield f"v{outer} over v{inner} {name} {'checked' if checked else 'no checksum'}", (outer, inner, tags, checked)


def leaving_rows():
    for name, (outer, inner, tags, checked) in shapes():
        for inside, outside in itertools.product(range(4), range(4)):
            after = OUTGOING[inside][outside]
            before = tunnelled(outer, inner, tags, MARKED_DSCP << 2 | outside, MARKED_DSCP << 2 | inside, checked)
            expected = "drop" if after is None else \
                tunnelled(outer, inner, tags, MARKED_DSCP << 2 | outside, MARKED_DSCP << 2 | after, checked).hex()
            yield f"{name} {NAMES[inside]} in {NAMES[outside]}", str(inside), str(outside), before.hex(), expected


def entering_rows():
    """What Linux makes outside: the inner ECN, but ECT(0) for CE, and Not-ECT for what it does not look into."""
    for name, (outer, inner, tags, checked) in shapes():
        for inside, dscp in itertools.product(range(4), (MARKED_DSCP, PLAIN_DSCP)):
            for outside in {NOT_ECT, ECT0 if inside == CE else inside}:
                before = tunnelled(outer, inner, tags, 5 << 2 | outside, dscp << 2 | inside, checked)
                carried = dscp if dscp == MARKED_DSCP else 5
                after = tunnelled(outer, inner, tags, carried << 2 | inside, dscp << 2 | inside, checked)
                yield f"{name} {NAMES[inside]} dscp {dscp} in {NAMES[outside]}", str(inside), before.hex(), after.hex()
