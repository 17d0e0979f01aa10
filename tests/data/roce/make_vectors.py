#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes vectors.tsv: RoCEv2 frames whose ICRC scapy has computed, an oracle that is not our own code.

    make_vectors.py > vectors.tsv

Columns: name, opcode, destination QP, PSN, payload bytes, frame in hex. The frames named golden_* are
captured from a NIC and taken as they are; the others are made here.
"""
import struct
import sys

from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

# Frames of ConnectX NICs: a CNP of a ConnectX-4 Lx, another CNP, and UC SENDs over both IP versions (scapy 2.5
# has no ICRC over IPv6, so that one comes from a capture too).
GOLDEN_CNP = (
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118"
    "000000000000000000000000000000000000000082fd002a"
)
GOLDEN_CNP_2 = (
    "e41d2dab2bc27cfe90643b3208004589003c98c64000201169271616160816161607dbae12b7002800008100ffff400000d2"
    "0000000000000000000000000000000000000000dafc1bef"
)
GOLDEN_UC_V4 = (
    "248a07a8fa22248a07a8fa22080045010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d3"
    "00cf17104630818be28935d90e9a95505401be885e50000078f353f3"
)
GOLDEN_UC_V6 = (
    "248a07a8fa22248a07a8fa2286dd6e21face002c11ff20220000000000000000000000001023202300000000000000000000"
    "00001024c00012b7002ce7c52460ffff000000d300cf17104630818be28935d90e9a95505401be885e5000003e5b743b"
)


def link(vlan=None):
    ether = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
    return ether / Dot1Q(vlan=vlan, prio=3) if vlan is not None else ether


def v4(**fields):
    return IP(src="10.0.0.1", dst="10.0.0.9", flags="DF", id=4711, tos=106, ttl=64, **fields) / UDP(
        sport=49200, dport=4791, chksum=0)


def reth(length):
    return struct.pack(">QII", 0x1122334455667788, 0xDEADBEEF, length)


def payload(size):
    return bytes((i * 37 + 11) & 0xFF for i in range(size))


def rows():
    def row(name, frame, opcode, qp, psn, size):
        return name, opcode, qp, psn, size, bytes(frame).hex()

    def packet(name, ip, opcode, psn, ext, size, qp=0x4321, ackreq=0, vlan=None):
        pad = -size % 4
        bth = BTH(opcode=opcode, dqpn=qp, psn=psn, ackreq=ackreq, padcount=pad, migreq=0)
        body = Raw(ext + payload(size) + bytes(pad))
        return row(name, link(vlan) / ip / bth / body, opcode, qp, psn, size)

    yield "golden_cnp", 0x81, 0x118, 0, 0, GOLDEN_CNP
    yield "golden_cnp_2", 0x81, 0xD2, 0, 0, GOLDEN_CNP_2
    yield "golden_uc_send_v4", 0x24, 0xD3, 0xCF1710, 18, GOLDEN_UC_V4
    yield "golden_uc_send_v6", 0x24, 0xD3, 0xCF1710, 18, GOLDEN_UC_V6
    yield packet("write_first_v4", v4(), 0x06, 1, reth(4096), 1024)
    yield packet("write_middle_v4", v4(), 0x07, 2, b"", 1024)
    yield packet("write_last_odd_v4", v4(), 0x08, 0xFFFFFF, b"", 333, ackreq=1)
    yield packet("write_only_v4", v4(), 0x0A, 0, reth(1), 1, ackreq=1)
    yield packet("send_only_v4", v4(), 0x04, 77, b"", 64)
    yield packet("send_only_tagged_v4", v4(), 0x04, 78, b"", 64, vlan=100)
    yield packet("ud_send_only_v4", v4(), 0x64, 3, bytes(8), 256, qp=1)
    ack = BTH(opcode=0x11, dqpn=0x1234, psn=99, migreq=0) / AETH(syndrome=0x1F, msn=7)
    yield row("ack_v4", link() / v4() / ack, 0x11, 0x1234, 99, 0)
    yield row("cnp_v4", link() / v4() / cnp(dqpn=0xABCDEF), 0x81, 0xABCDEF, 0, 0)


def main():
    for fields in rows():
        sys.stdout.write("\t".join(str(f) for f in fields) + "\n")


if __name__ == "__main__":
    main()
