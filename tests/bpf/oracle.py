# SPDX-License-Identifier: Apache-2.0
"""What a right packet looks like, worked out in Python with scapy and zlib: the judge of our datapath.

Nothing here shares code with the product. Frames and packets are `bytes`.
"""
import struct
import zlib

from scapy.utils import checksum

ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86DD
VLAN_TYPES = (0x8100, 0x88A8)
UDP, ROCE_PORT = 17, 4791
CE = 3


def network_header(frame):
    """(EtherType, offset of what follows) behind any VLAN tags, or None if the frame ends in them."""
    offset = 12
    while offset + 2 <= len(frame):
        (ether_type,) = struct.unpack_from("!H", frame, offset)
        if ether_type not in VLAN_TYPES:
            return ether_type, offset + 2
        offset += 4
    return None


def ip_packet(frame):
    """The IP packet in a frame, cut to its length field (no Ethernet padding); None if there is none."""
    found = network_header(frame)
    if not found or found[0] not in (ETH_P_IP, ETH_P_IPV6):
        return None
    packet = frame[found[1]:]
    if found[0] == ETH_P_IP and len(packet) >= 20:
        return packet[:struct.unpack_from("!H", packet, 2)[0]]
    if found[0] == ETH_P_IPV6 and len(packet) >= 40:
        return packet[:40 + struct.unpack_from("!H", packet, 4)[0]]
    return None


def ecn(packet):
    """ECN field of an IP packet, 0-3 (RFC 3168 section 5)."""
    return (packet[1] if packet[0] >> 4 == 4 else packet[1] >> 4) & 3


def header_checksum_ok(packet):
    """IPv4 header checksum, by scapy's sum over the whole header (RFC 791): zero is right."""
    return checksum(packet[:(packet[0] & 15) * 4]) == 0


def roce_offset(packet):
    """Offset of the UDP header of a whole RoCEv2 packet, or None."""
    if packet[0] >> 4 == 4:
        start, protocol = (packet[0] & 15) * 4, packet[9]
        if struct.unpack_from("!H", packet, 6)[0] & 0x3FFF:  # a fragment has no ICRC of its own
            return None
    else:
        start, protocol = 40, packet[6]
    if protocol != UDP or len(packet) < start + 8 + 12 + 4:
        return None
    return start if struct.unpack_from("!H", packet, start + 2)[0] == ROCE_PORT else None


def icrc_input(packet, udp):
    """What a RoCEv2 packet's ICRC covers: variant fields as ones, 8 leading bytes FF (IBTA A17, RoCEv2)."""
    covered = bytearray(packet[:-4])
    if packet[0] >> 4 == 4:
        covered[1] = covered[8] = 0xFF  # ToS, TTL
        covered[10:12] = b"\xff\xff"  # header checksum
    else:
        covered[0] |= 0x0F  # traffic class
        covered[1:4] = b"\xff\xff\xff"  # traffic class, flow label
        covered[7] = 0xFF  # hop limit
    covered[udp + 6:udp + 8] = b"\xff\xff"  # UDP checksum
    covered[udp + 8 + 4] = 0xFF  # FECN, BECN, reserved
    return b"\xff" * 8 + bytes(covered)


def icrc(packet, udp):
    """The ICRC a RoCEv2 packet must end with, as it stands on the wire (4 bytes)."""
    return struct.pack("<I", zlib.crc32(icrc_input(packet, udp)))
