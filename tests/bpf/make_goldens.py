#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the packets in tests/bpf/goldens: what goes into the datapath and what must come out.

Each expected packet is built by scapy from scratch with the new ToS or traffic class, so lengths and
checksums are scapy's; none of our code has a say. The same run always gives the same files.

  ecn.tsv        name, in, marked ('-': must not change), kind: not_ect, ect0, ect1, ce or not_ip
  remark.tsv     name, dscp_from, dscp_to, in, out
  hook.tsv       name, dscp_from, dscp_to, pcp, in, out: `pcp` is written into the outermost tag
  overlay_leaving.tsv   name, ECN inside, ECN outside, in, out ('drop'): the end of a VXLAN tunnel
  overlay_entering.tsv  name, ECN inside, in, out: its beginning
  malformed.tsv  name, in, kind: as in enum ll_bad (l2_short, ip_short, ip_version, ip_hlen) or none
                 (newer kernels refuse an untagged frame cut inside its IP header in BPF_PROG_TEST_RUN with
                 EINVAL; the tagged ones get through)

Usage: scripts/goldens [--check]     --check writes nothing, fails if a file is not what would be written
"""
import argparse
import difflib
import logging
import pathlib
import random
import sys

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

# pylint: disable=wrong-import-position
from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

import oracle
import overlay_goldens

FOLDER = pathlib.Path(__file__).parent / "goldens"
KINDS = ("not_ect", "ect1", "ect0", "ce")  # by ECN field
SOURCE = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}  # documentation addresses follow
V4 = {"src": "192.0.2.1", "dst": "198.51.100.2"}
V6 = {"src": "2001:db8::1", "dst": "2001:db8:ffff::2"}
RECORD_ROUTE = {4: b"\x01\x01\x01\x00", 12: b"\x07\x0b\x04" + bytes(8) + b"\x00", 40: b"\x07\x27\x04" + bytes(36) + b"\x00"}
# Header checksums next to where one's complement sums carry, wrap and fold twice.
EDGES = (0x0000, 0x0001, 0x0002, 0x0003, 0x00FF, 0x0100, 0x7FFF, 0x8000, 0xFF00, 0xFFFC, 0xFFFD, 0xFFFE)

rng = random.Random(4791)


def payload(size):
    return Raw(rng.randbytes(size))


# --- the packets, from the inside out ------------------------------------------------------------------

def roce(size=64, opcode=0x0A, **bth):
    """UDP and RoCEv2 with a payload of `size` bytes (opcode 0x0a: RC RDMA WRITE only)."""
    bth = {"dqpn": 0x12, "psn": rng.randrange(1 << 24), "ackreq": 1, **bth}
    return UDP(sport=0xC000 + rng.randrange(0x1000), dport=oracle.ROCE_PORT, chksum=0) / BTH(opcode=opcode, **bth) / payload(size)


def ack():
    return UDP(sport=0xC012, dport=oracle.ROCE_PORT, chksum=0) / BTH(opcode=0x11, dqpn=0x34, psn=77) / AETH(syndrome=0x1F, msn=5)


def notification():
    return UDP(sport=0xC013, dport=oracle.ROCE_PORT, chksum=0) / cnp(dqpn=0x56)


class Packet:
    """A frame whose ToS byte can be chosen when it is built: the same packet before and after the datapath."""

    def __init__(self, above, version=4, tags=(), options=b"", **fields):
        self.above, self.version, self.tags, self.options, self.fields = above, version, tags, options, fields

    def _network(self, tos):
        if self.version == 6:
            return IPv6(tc=tos, **{**V6, "fl": 0x12345, "hlim": 64, **self.fields})
        # `options` go in as bytes of their own: scapy must not pad or reorder them.
        ihl = 5 + len(self.options) // 4
        fields = {**V4, "ttl": 64, "flags": "DF", "id": 0x1234, **self.fields}
        if not self.options:
            return IP(tos=tos, ihl=ihl, **fields)
        return IP(bytes(IP(tos=tos, ihl=ihl, len=0, chksum=0, proto=17, **fields)) + self.options)

    def build(self, tos):
        network = self._network(tos)
        if self.options:
            network.remove_payload()
            network.len = network.chksum = None
        frame = Ether(**SOURCE)
        for tag in self.tags:
            frame.lastlayer().type = tag.get("type", 0x8100)
            frame /= Dot1Q(vlan=tag.get("vlan", 100), prio=tag.get("prio", 3), id=tag.get("dei", 0))
        return with_icrc(bytes(frame / network / self.above.copy()), self.version)


def with_icrc(frame, version):
    """scapy computes the ICRC of IPv4 itself, and knows none for IPv6: there ours goes in. Both must agree."""
    packet = oracle.ip_packet(frame)
    udp = oracle.roce_offset(packet)
    if udp is None:
        return frame
    right = oracle.icrc(packet, udp)
    if version == 6:
        return frame[:-4] + right
    if packet[-4:] != right:
        raise AssertionError(f"scapy and the oracle disagree on an ICRC: {packet[-4:].hex()} {right.hex()}")
    return frame


def with_checksum(packet, tos, wanted):
    """Chooses the IPv4 id that makes the header checksum come out as `wanted` (0 .. 0xfffe)."""
    packet.fields["id"] = 0
    without = header_checksum(packet.build(tos))
    packet.fields["id"] = (without - wanted) % 0xFFFF
    got = header_checksum(packet.build(tos))
    if got != wanted:
        raise AssertionError(f"wanted header checksum {wanted:#06x}, got {got:#06x}")
    return packet


def header_checksum(frame):
    return int.from_bytes(oracle.ip_packet(frame)[10:12], "big")


# --- ecn.tsv ---------------------------------------------------------------------------------------------

def ecn_row(name, packet, dscp, ecn):
    before = packet.build(dscp << 2 | ecn)
    marked = packet.build(dscp << 2 | oracle.CE).hex() if ecn in (1, 2) else "-"
    return name, before.hex(), marked, KINDS[ecn]


def ecn_rows():
    for dscp in (0, 26, 63):
        for ecn in range(4):
            yield ecn_row(f"ipv4 {KINDS[ecn]} dscp {dscp}", Packet(roce()), dscp, ecn)
    yield from ecn_shapes()
    yield from ecn_checksum_edges()
    yield from ecn_ipv6()
    yield from ecn_vlan()
    yield from ecn_not_ip()


def ecn_shapes():
    """Other packets than a plain RDMA WRITE: options, fragments, protocols, sizes."""
    for size, options in RECORD_ROUTE.items():
        for ecn in (0, 1, 2, 3):
            yield ecn_row(f"ipv4 {size} bytes of options {KINDS[ecn]}", Packet(roce(), options=options), 26, ecn)
    for ecn in (1, 2):
        shape = {
            "smallest RoCE": Packet(roce(0)),
            "1500 bytes": Packet(roce(1500 - 20 - 8 - 12 - 4)),
            "RoCE ACK": Packet(ack()),
            "CNP": Packet(notification(), flags=0),
            "SEND first": Packet(roce(256, opcode=0x00)),
            "UDP checksum set": Packet(UDP(sport=1, dport=2) / payload(32)),
            "TCP": Packet(TCP(sport=1, dport=2, flags="A") / payload(32)),
            "ICMP": Packet(ICMP() / payload(32)),
            "first fragment": Packet(UDP(sport=1, dport=2, len=2000, chksum=0x1234) / payload(64), flags="MF"),
            "last fragment": Packet(payload(64), flags=0, frag=185, proto=17),
            "header only": Packet(Raw(b""), proto=255),
            "ttl 1": Packet(roce(), ttl=1),
        }
        for name, packet in shape.items():
            yield ecn_row(f"ipv4 {name} {KINDS[ecn]}", packet, 26, ecn)


def ecn_checksum_edges():
    for dscp in (0, 26, 63):
        for ecn in (1, 2):
            for edge in EDGES:
                packet = with_checksum(Packet(roce(8)), dscp << 2 | ecn, edge)
                yield ecn_row(f"ipv4 checksum {edge:#06x} {KINDS[ecn]} dscp {dscp}", packet, dscp, ecn)
    # 0xffff is the other zero: no sender computes it, a NIC or an older host may still send it.
    for ecn in (1, 2):
        packet = with_checksum(Packet(roce(8)), 26 << 2 | ecn, 0)
        name, before, marked, kind = ecn_row(f"ipv4 checksum 0xffff {KINDS[ecn]}", packet, 26, ecn)
        before = bytearray.fromhex(before)
        before[14 + 10:14 + 12] = b"\xff\xff"
        yield name, before.hex(), marked, kind


def ecn_ipv6():
    """The traffic class straddles two bytes, the flow label is its neighbour: all values next to an edge."""
    for dscp in (0, 1, 15, 16, 26, 31, 32, 62, 63):
        for flow in (0, 1, 0x0FFFF, 0x80000, 0xF0000, 0xFFFFF):
            for ecn in range(4):
                yield ecn_row(f"ipv6 {KINDS[ecn]} dscp {dscp} flow {flow:#07x}", Packet(roce(16), version=6, fl=flow), dscp, ecn)
    for ecn in (1, 2):
        shape = {
            "hop-by-hop": IPv6ExtHdrHopByHop(options=PadN(optdata=b"\0" * 4)) / UDP(sport=1, dport=2) / payload(16),
            "fragment": IPv6ExtHdrFragment(offset=10, nh=17) / payload(16),
            "TCP": TCP(sport=1, dport=2) / payload(16),
            "UDP checksum set": UDP(sport=1, dport=2) / payload(16),
            "CNP": notification(),
            "1500 bytes": roce(1500 - 40 - 8 - 12 - 4),
        }
        for name, above in shape.items():
            yield ecn_row(f"ipv6 {name} {KINDS[ecn]}", Packet(above, version=6), 26, ecn)


TAGS = {
    "vlan": ({"vlan": 100},),
    "vlan 0 pcp 7": ({"vlan": 0, "prio": 7},),
    "vlan 4095 dei": ({"vlan": 4095, "prio": 0, "dei": 1},),
    "service vlan": ({"vlan": 10, "type": 0x88A8},),
    "QinQ": ({"vlan": 10, "type": 0x88A8, "prio": 5}, {"vlan": 20, "prio": 2}),
    "double 8100": ({"vlan": 10}, {"vlan": 20}),
}


def ecn_vlan():
    for tag, tags in TAGS.items():
        for version in (4, 6):
            for ecn in range(4):
                yield ecn_row(f"{tag} ipv{version} {KINDS[ecn]}", Packet(roce(), version=version, tags=tags), 26, ecn)
    options = Packet(roce(), tags=TAGS["QinQ"], options=RECORD_ROUTE[40])
    yield ecn_row("QinQ ipv4 40 bytes of options ect0", options, 26, 2)
    for edge in (0x0000, 0x0001, 0x0002, 0xFFFE):
        for ecn in (1, 2):
            packet = with_checksum(Packet(roce(8), tags=TAGS["QinQ"]), 26 << 2 | ecn, edge)
            yield ecn_row(f"QinQ ipv4 checksum {edge:#06x} {KINDS[ecn]}", packet, 26, ecn)


def not_ip_frames():
    """Whole frames without an IP header where the datapath looks for one. Three tags are one too many."""
    three = ({"vlan": 1, "type": 0x88A8}, {"vlan": 2}, {"vlan": 3})
    yield "ARP", bytes(Ether(**SOURCE) / ARP(op=1, hwsrc=SOURCE["src"], psrc=V4["src"], pdst=V4["dst"]) / Raw(bytes(18)))
    yield "ARP in a VLAN", bytes(Ether(**SOURCE) / Dot1Q(vlan=100, prio=5) / ARP(hwsrc=SOURCE["src"], psrc=V4["src"], pdst=V4["dst"]) / Raw(bytes(14)))
    yield "LLDP", bytes(Ether(dst="01:80:c2:00:00:0e", src=SOURCE["src"], type=0x88CC) / Raw(bytes(46)))
    yield "EAPOL", bytes(Ether(dst="01:80:c2:00:00:03", src=SOURCE["src"], type=0x888e) / Raw(b"\x02\x07\x04" + bytes(43)))
    yield "802.3 length", bytes(Ether(dst="01:80:c2:00:00:00", src=SOURCE["src"], type=38) / Raw(b"\x42\x42\x03" + bytes(43)))
    yield "RoCEv1", bytes(Ether(type=0x8915, **SOURCE) / Raw(bytes(60)))
    yield "MPLS", bytes(Ether(type=0x8847, **SOURCE) / Raw(b"\x00\x01\x01\x40" + bytes(60)))
    yield "three tags", Packet(roce(), tags=three).build(26 << 2 | 2)


def ecn_not_ip():
    for name, frame in not_ip_frames():
        yield name, frame.hex(), "-", "not_ip"


# --- remark.tsv ------------------------------------------------------------------------------------------

def remark_row(name, packet, old, new, ecn):
    before, after = packet.build(old << 2 | ecn), packet.build(new << 2 | ecn)
    return f"{name} {KINDS[ecn]} {old}->{new}", str(old), str(new), before.hex(), after.hex()


def remark_rows():
    pairs = ((0, 1), (0, 63), (63, 0), (26, 48), (48, 26), (31, 32), (32, 31), (15, 16), (16, 15), (8, 46))
    for old, new in pairs:
        for ecn in (0, 1, 2, 3):
            yield remark_row("ipv4", Packet(roce()), old, new, ecn)
            yield remark_row("ipv6", Packet(roce(), version=6, fl=0xFFFFF), old, new, ecn)
            yield remark_row("ipv6 flow 0", Packet(roce(), version=6, fl=0), old, new, ecn)
        for tag, tags in TAGS.items():
            yield remark_row(f"{tag} ipv4", Packet(roce(), tags=tags), old, new, 2)
            yield remark_row(f"{tag} ipv6", Packet(roce(), version=6, tags=tags), old, new, 2)
        for size, options in RECORD_ROUTE.items():
            yield remark_row(f"ipv4 {size} bytes of options", Packet(roce(), options=options), old, new, 2)
        for edge in EDGES:
            packet = with_checksum(Packet(roce(8)), old << 2 | 2, edge)
            yield remark_row(f"ipv4 checksum {edge:#06x}", packet, old, new, 2)
    for new in range(64):  # each code point once as a target
        yield remark_row("ipv4 all", Packet(roce(8)), 63 - new, new, 2)
        yield remark_row("ipv6 all", Packet(roce(8), version=6), 63 - new, new, 2)


# --- hook.tsv --------------------------------------------------------------------------------------------

def hook_row(name, packet, old, new, pcp, ecn=2):
    tags = tuple({**tag, "prio": pcp} if i == 0 else tag for i, tag in enumerate(packet.tags))
    after = Packet(packet.above, packet.version, tags, packet.options, **packet.fields)
    row = f"{name} {KINDS[ecn]} {old}->{new} pcp {pcp}"
    return row, str(old), str(new), str(pcp), packet.build(old << 2 | ecn).hex(), after.build(new << 2 | ecn).hex()


def hook_rows():
    for old, new, pcp in ((26, 34, 4), (0, 63, 7), (63, 0, 0), (31, 32, 5), (16, 15, 1)):
        for ecn in range(4):
            yield hook_row("ipv4", Packet(roce()), old, new, pcp, ecn)
            yield hook_row("ipv6", Packet(roce(), version=6, fl=0xFFFFF), old, new, pcp, ecn)
        for tag, tags in TAGS.items():
            yield hook_row(f"{tag} ipv4", Packet(roce(), tags=tags), old, new, pcp)
            yield hook_row(f"{tag} ipv6", Packet(roce(), version=6, tags=tags), old, new, pcp)
        for size, options in RECORD_ROUTE.items():
            yield hook_row(f"QinQ ipv4 {size} bytes of options", Packet(roce(), tags=TAGS["QinQ"], options=options), old, new, pcp)
        for edge in EDGES:
            packet = with_checksum(Packet(roce(8)), old << 2 | 2, edge)
            yield hook_row(f"ipv4 checksum {edge:#06x}", packet, old, new, pcp)


# --- malformed.tsv -----------------------------------------------------------------------------------------

ETHERNET = 14  # a frame shorter than this never reaches the datapath


def cut_kind(length, tags, header):
    """What a frame cut to `length` bytes is, when its tags and its IP header of `header` bytes were whole."""
    if length < ETHERNET + 4 * tags:
        return "l2_short"
    return "ip_short" if length < ETHERNET + 4 * tags + header else "none"


def cut_rows():
    """Every length from a bare Ethernet header to one byte beyond the IP header."""
    frames = {
        "ipv4": (Packet(roce(8)), 20),
        "ipv4 options": (Packet(roce(8), options=RECORD_ROUTE[40]), 60),
        "ipv6": (Packet(roce(8), version=6), 40),
        "vlan ipv4": (Packet(roce(8), tags=TAGS["vlan"]), 20),
        "vlan ipv6": (Packet(roce(8), version=6, tags=TAGS["vlan"]), 40),
        "vlan ipv4 options": (Packet(roce(8), tags=TAGS["vlan"], options=RECORD_ROUTE[40]), 60),
        "QinQ ipv4 options": (Packet(roce(8), tags=TAGS["QinQ"], options=RECORD_ROUTE[12]), 32),
        "QinQ ipv6": (Packet(roce(8), version=6, tags=TAGS["QinQ"]), 40),
    }
    for name, (packet, header) in frames.items():
        frame = packet.build(26 << 2 | 2)
        for length in range(ETHERNET, ETHERNET + 4 * len(packet.tags) + header + 2):
            yield f"{name} cut to {length}", frame[:length].hex(), cut_kind(length, len(packet.tags), header)


def with_byte(frame, offset, value):
    changed = bytearray(frame)
    changed[offset] = value
    return bytes(changed)


def wrong_field_rows():
    v4, v6 = Packet(roce()).build(26 << 2 | 2), Packet(roce(), version=6).build(26 << 2 | 2)
    tagged = Packet(roce(), tags=TAGS["QinQ"]).build(26 << 2 | 2)
    for version in (0, 1, 3, 5, 6, 7, 15):
        yield f"ipv4 version {version}", with_byte(v4, 14, version << 4 | 5).hex(), "ip_version"
        yield f"QinQ ipv4 version {version}", with_byte(tagged, 22, version << 4 | 5).hex(), "ip_version"
    for version in (0, 4, 5, 7, 15):
        yield f"ipv6 version {version}", with_byte(v6, 14, version << 4 | 6).hex(), "ip_version"
    for hlen in range(5):
        yield f"ipv4 header length {4 * hlen}", with_byte(v4, 14, 0x40 | hlen).hex(), "ip_hlen"
        yield f"QinQ ipv4 header length {4 * hlen}", with_byte(tagged, 22, 0x40 | hlen).hex(), "ip_hlen"
    short = Packet(UDP(sport=1, dport=2) / payload(8)).build(26 << 2 | 2)  # 36 bytes of IP packet in all
    for hlen in (10, 15):
        yield f"ipv4 header length {4 * hlen} of 36 bytes", with_byte(short, 14, 0x40 | hlen).hex(), "ip_short"
    yield "ipv4 header length 36 of 36 bytes", with_byte(short, 14, 0x49).hex(), "none"
    yield "ipv4 total length 0", with_byte(with_byte(v4, 16, 0), 17, 0).hex(), "none"
    yield "ipv4 total length 65535", with_byte(with_byte(v4, 16, 255), 17, 255).hex(), "none"
    yield "ipv6 payload length 0", with_byte(with_byte(v6, 18, 0), 19, 0).hex(), "none"
    yield "ipv6 payload length 65535", with_byte(with_byte(v6, 18, 255), 19, 255).hex(), "none"


def malformed_rows():
    yield from cut_rows()
    yield from wrong_field_rows()
    for name, frame in not_ip_frames():
        yield f"whole {name}", frame.hex(), "none"


# --- the files -----------------------------------------------------------------------------------------------

FILES = {
    "ecn.tsv": (("name", "in_hex", "marked_hex", "kind"), ecn_rows),
    "remark.tsv": (("name", "dscp_from", "dscp_to", "in_hex", "out_hex"), remark_rows),
    "hook.tsv": (("name", "dscp_from", "dscp_to", "pcp", "in_hex", "out_hex"), hook_rows),
    "malformed.tsv": (("name", "in_hex", "kind"), malformed_rows),
    "overlay_leaving.tsv": (("name", "inner_ecn", "outer_ecn", "in_hex", "out_hex"), overlay_goldens.leaving_rows),
    "overlay_entering.tsv": (("name", "inner_ecn", "in_hex", "out_hex"), overlay_goldens.entering_rows),
}


def render(columns, rows):
    seen = set()
    lines = ["# SPDX-License-Identifier: Apache-2.0", "# Made by scripts/goldens; don't edit.", "# " + "\t".join(columns)]
    for row in rows:
        if row[0] in seen:
            raise AssertionError(f"two packets are called '{row[0]}'")
        seen.add(row[0])
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def differs(path, text):
    """Prints where a committed file is not what would be made; True if it is not."""
    committed = path.read_text() if path.exists() else ""
    if committed == text:
        return False
    diff = difflib.unified_diff(committed.splitlines(), text.splitlines(), str(path), "regenerated", n=0, lineterm="")
    for line in list(diff)[:20]:
        print(line[:200], file=sys.stderr)
    print(f"goldens: {path} is not what scripts/goldens makes", file=sys.stderr)
    return True


def main():
    parser = argparse.ArgumentParser(prog="scripts/goldens", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a committed file differs")
    check = parser.parse_args().check
    FOLDER.mkdir(exist_ok=True)
    bad = 0
    for name, (columns, rows) in FILES.items():
        rng.seed(name)
        text = render(columns, rows())
        count = text.count("\n") - 3
        if check:
            bad += differs(FOLDER / name, text)
        else:
            (FOLDER / name).write_text(text)
        print(f"{name}: {count} packets")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
