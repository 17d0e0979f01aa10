#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the frames that endpoint_frames prints with scapy: IPv4 checksum, UDP, BTH, ICRC, CNP.

    endpoint_scapy_test.py PROGRAM
"""
import collections
import subprocess
import sys

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

WANTED = {0x00, 0x01, 0x02, 0x06, 0x07, 0x08, 0x0A, 0x11, 0x64, 0x81}


def faults(raw):
    """What is wrong with one frame, and its opcode."""
    frame = Ether(raw)
    bth = frame[BTH]
    # Built again from the same fields, with scapy's own checksum and ICRC.
    again = Ether(raw)
    del again[IP].chksum
    again[BTH].icrc = None
    rebuilt = bytes(again)
    found = []
    if rebuilt[-4:] != raw[-4:]:
        found.append(f"ICRC {raw[-4:].hex()}, scapy has {rebuilt[-4:].hex()}")
    if rebuilt[:-4] != raw[:-4]:
        found.append("headers differ from scapy's")
    if frame[UDP].chksum != 0 or frame[UDP].len != len(raw) - raw.find(bytes(frame[UDP])[:8]):
        found.append("UDP length or checksum")
    if bth.opcode == 0x81 and not (bth.becn and frame[IP].tos >> 2 == 48 and frame[IP].len == 60):
        found.append("not a CNP as NICs send it")
    return bth.opcode, found


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.split()
    seen = collections.Counter()
    bad = 0
    for line in lines:
        opcode, found = faults(bytes.fromhex(line))
        seen[opcode] += 1
        for fault in found:
            bad += 1
            print(f"opcode {opcode:#04x}: {fault}\n  {line}")
    missing = WANTED - set(seen)
    if missing:
        print("no frame with opcode", ", ".join(f"{o:#04x}" for o in sorted(missing)))
    print("checked", ", ".join(f"{n} of {o:#04x}" for o, n in sorted(seen.items())))
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
