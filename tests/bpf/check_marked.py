#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges packets that our marker let out: every one must say CE, and still be a valid packet.

Usage: check_marked.py PCAP [--count N] [--ecn ce|any]

For each packet in the capture: an IP packet behind any VLAN tags, ECN == CE, the IPv4 header checksum by
scapy, and the ICRC where it is RoCEv2. The ICRC is zlib's CRC over the invariant bytes; that reading of the
standard is itself checked against scapy.contrib.roce on a sample of the IPv4 packets. Exit status 1 if
anything is wrong, with the first failures.
"""
import argparse
import collections
import logging
import sys

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

# pylint: disable=wrong-import-position
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP
from scapy.utils import RawPcapReader

import oracle

SHOWN = 10          # failures printed
SAMPLE_FIRST = 100  # packets whose ICRC scapy computes as well: the first ones ...
SAMPLE_EVERY = 500  # ... and each so many


def scapy_icrc(packet):
    """The ICRC by scapy.contrib.roce, which knows IPv4 only."""
    dissected = IP(packet)
    return dissected[BTH].compute_icrc(None)


def faults(frame, sampled, seen, want_ce):
    """What is wrong with one frame, as texts; counts what it is in `seen`."""
    packet = oracle.ip_packet(frame)
    if packet is None:
        return ["no IP packet"]
    version = packet[0] >> 4
    seen[f"ipv{version}"] += 1
    wrong = []
    if want_ce and oracle.ecn(packet) != oracle.CE:
        wrong.append(f"ECN is {oracle.ecn(packet)}, not CE")
    if version == 4 and not oracle.header_checksum_ok(packet):
        wrong.append(f"IPv4 header checksum {packet[10:12].hex()} is wrong")
    udp = oracle.roce_offset(packet)
    if udp is None:
        return wrong
    seen["roce"] += 1
    right = oracle.icrc(packet, udp)
    if packet[-4:] != right:
        wrong.append(f"ICRC is {packet[-4:].hex()}, must be {right.hex()}")
    if sampled and version == 4:
        seen["icrc by scapy"] += 1
        if scapy_icrc(packet) != packet[-4:]:
            wrong.append("scapy computes another ICRC")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pcap", help="capture of Ethernet frames")
    parser.add_argument("--count", type=int, help="fail if the capture holds another number of packets")
    parser.add_argument("--ecn", choices=("ce", "any"), default="ce", help="what the ECN field must be (ce)")
    options = parser.parse_args()
    seen, failed, number = collections.Counter(), 0, 0
    capture = RawPcapReader(options.pcap)
    if getattr(capture, "linktype", 1) != 1:
        sys.exit(f"check_marked: {options.pcap} does not hold Ethernet frames (link type {capture.linktype})")
    for number, (frame, meta) in enumerate(capture, 1):
        if len(frame) < meta.wirelen:
            sys.exit(f"check_marked: packet {number} was captured to {len(frame)} of {meta.wirelen} bytes; capture whole packets")
        sampled = number <= SAMPLE_FIRST or number % SAMPLE_EVERY == 0
        wrong = faults(frame, sampled, seen, options.ecn == "ce")
        if wrong:
            failed += 1
            if failed <= SHOWN:
                print(f"packet {number}: {'; '.join(wrong)}: {frame[:64].hex()}", file=sys.stderr)
    capture.close()
    print(f"{number} packets, {failed} failed (" + ", ".join(f"{name} {seen[name]}" for name in sorted(seen)) + ")")
    if options.count is not None and number != options.count:
        sys.exit(f"check_marked: expected {options.count} packets in {options.pcap}")
    if number == 0:
        sys.exit(f"check_marked: {options.pcap} holds no packet")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
