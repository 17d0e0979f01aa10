# SPDX-License-Identifier: Apache-2.0
"""RoCEv2 packets by scapy, and what scapy says of those that come in."""

import struct
import zlib

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

WRITE_MIDDLE, WRITE_ONLY, ACK, UD_SEND, CNP = 0x07, 0x0A, 0x11, 0x64, 0x81
ECT0 = 2


def sport(a, b):
    """UDP source port that senders make of a pair of QPs."""
    v = a * b
    v ^= v >> 20
    v ^= v >> 40
    label = v & 0xFFFFF
    return ((label & 0x3FFF) ^ (label >> 14)) | 0xC000


def packet(star, src, dst, qp, port, opcode=WRITE_MIDDLE, psn=0, ackreq=0, dscp=26, payload=b"x" * 256, ip=None, vlan=None):
    """A frame with its ICRC. `ip`: (source, destination) if not the star's own addresses."""
    source, destination = ip or (star.ip(src), star.ip(dst))
    tos = dscp << 2 | ECT0
    network = IPv6(src=source, dst=destination, tc=tos) if ":" in source else IP(src=source, dst=destination, tos=tos)
    frame = Ether(src=star.mac(src), dst=star.mac(dst))
    if vlan:
        frame /= vlan
    return frame / network / UDP(sport=port, dport=4791, chksum=0) / \
        BTH(opcode=opcode, dqpn=qp, psn=psn, ackreq=ackreq, padcount=0) / Raw(payload)


def ack(*args, **kwargs):
    return packet(*args, opcode=ACK, payload=struct.pack("!I", 0x1F000000), **kwargs)


def cm(star, src, dst, attribute, local_id, remote_id=0, qpn=0, ip=None):
    """A CM message to QP 1."""
    mad = bytearray(256)
    mad[0:4] = bytes([1, 7, 2, 3])
    struct.pack_into("!H", mad, 16, attribute)
    struct.pack_into("!II", mad, 24, local_id, remote_id)
    offset = {0x10: 56, 0x13: 36, 0x15: 32}[attribute]
    mad[offset:offset + 3] = qpn.to_bytes(3, "big")
    deth = struct.pack("!II", 0x80010000, 1)
    return packet(star, src, dst, 1, 0xC123, opcode=UD_SEND, payload=deth + bytes(mad), ip=ip)


def _icrc6_is_right(received):
    """scapy has no ICRC over IPv6: CRC-32 of eight bytes FF, and of the packet with what routers change as ones."""
    ip = bytearray(bytes(received[IPv6]))
    icrc = int.from_bytes(ip[-4:], "little")
    ip[0] |= 0x0F
    for at in (1, 2, 3, 7, 46, 47, 52):  # traffic class and flow label, hop limit, UDP checksum, FECN and BECN
        ip[at] = 0xFF
    return zlib.crc32(b"\xff" * 8 + ip[:-4]) == icrc


def icrc_is_right(received):
    """Whether scapy comes to the same ICRC."""
    if IPv6 in received:
        return _icrc6_is_right(received)
    again = Ether(bytes(received))
    if IP in again:
        del again[IP].chksum
    again[BTH].icrc = None
    return bytes(again) == bytes(received)


def is_cnp(p):
    return BTH in p and p[BTH].opcode == CNP
