# SPDX-License-Identifier: Apache-2.0
"""iNOF frames of hosts, written down apart from the daemon's codec: announcement, ACK, query; and what a switch
sends, read. Both dialects, IPv4 and IPv6."""

import socket
import struct
from dataclasses import dataclass

LLDP_GROUP = bytes.fromhex("0180c200000e")
STATUS_GROUP = bytes.fromhex("0180c200000d")
LLDP_TYPE = 0x88CC
SERVER, CLIENT = 1, 2  # initiator, target
OFFLINE, ONLINE = 0, 1
REASONS = ("normal", "link-down", "pfc-deadlock", "bfd", "removed-from-zone", "address-changed", "lldp-timeout")


@dataclass(frozen=True)
class Dialect:
    name: str
    org: bytes       # OUI and subtype of the LLDP TLV
    prefix: bytes    # of the port ID
    ethertype: int   # of status frames
    notify: int
    ack: int
    query: int


ODCC = Dialect("odcc", bytes.fromhex("00188265"), b"snsd_", 0x88A7, 33, 34, 35)
CHINA_MOBILE = Dialect("china-mobile", bytes.fromhex("5c75c658"), b"roce-san_", 0x7777, 1, 2, 3)
DIALECTS = {d.name: d for d in (ODCC, CHINA_MOBILE)}


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def ip_bytes(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def ip_text(value):
    return socket.inet_ntop(socket.AF_INET6 if len(value) == 16 else socket.AF_INET, value)


def _tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


def announcement(mac, address, dialect=ODCC, role=SERVER, ttl=120, subscribe=True, chassis=None, interface=b"eth0",
                 nqn=b"", index=1):
    """A whole LLDP frame. `mac`: bytes; `chassis`: another MAC as chassis ID."""
    ip = ip_bytes(address)
    flags = (2 if len(ip) == 16 else 1) | (0x80 if subscribe else 0)
    org = (dialect.org + bytes([1, flags, 0, 0]) + ip.ljust(16, b"\0")
           + struct.pack("!BBHHB", role, 1, 0x0101, 0, len(nqn)) + nqn)
    return (LLDP_GROUP + mac + struct.pack("!H", LLDP_TYPE) + _tlv(1, b"\4" + (chassis or mac))
            + _tlv(2, b"\5" + dialect.prefix + interface + b"_%02d" % index) + _tlv(3, struct.pack("!H", ttl))
            + _tlv(127, org) + _tlv(0, b""))


def _sub(kind, value):
    return struct.pack("!BH", kind, len(value)) + value


def _address(kind, ip):
    return _sub(kind + (2 if len(ip) == 16 else 0), ip)


def _status(mac, dialect, body):
    return STATUS_GROUP + mac + struct.pack("!HBBHI", dialect.ethertype, 1, 0, len(body), 0) + body


def ack(mac, dialect, messages):
    """One frame that acknowledges Notifications."""
    return _status(mac, dialect, b"".join(
        _sub(dialect.ack, _address(1, ip_bytes(m.subject)) + _address(2, ip_bytes(m.notified))
             + _sub(5, struct.pack("!I", m.sequence))) for m in messages))


def query(mac, dialect, address):
    return _status(mac, dialect, _sub(dialect.query, _address(2, ip_bytes(address)))).ljust(44, b"\0")


@dataclass(frozen=True)
class Notification:
    subject: str
    notified: str
    sequence: int
    online: bool
    reason: int
    attached: bytes = b""


def _values(data):
    found = {}
    while data:
        kind, size = struct.unpack("!BH", data[:3])
        if len(data) < 3 + size or kind in found:
            raise ValueError("subTLVs that do not add up")
        found[kind], data = data[3:3 + size], data[3 + size:]
    return found


def notifications(frame, dialect):
    """What a status frame of a switch says. ValueError for a frame that a strict host would refuse."""
    if len(frame) > 1514 or frame[:6] != STATUS_GROUP:
        raise ValueError("too long, or not to the group")
    ethertype, version, _, length, _ = struct.unpack("!HBBHI", frame[12:22])
    body = frame[22:]
    if ethertype != dialect.ethertype or version != 1 or length > len(body):
        raise ValueError("header")
    out, body = [], body[:length]
    while body:
        kind, size = struct.unpack("!BH", body[:3])
        if kind != dialect.notify or len(body) < 3 + size:
            raise ValueError("TLV")
        v, body = _values(body[3:3 + size]), body[3 + size:]
        number = {k: struct.unpack("!I", v[k])[0] for k in (5, 6, 7)}
        if len(v.get(8, b"")) < 7:
            raise ValueError("attached information is missing")
        out.append(Notification(ip_text(v.get(1) or v[3]), ip_text(v.get(2) or v[4]), number[5], number[6] == 1,
                                number[7], v[8]))
    return out
