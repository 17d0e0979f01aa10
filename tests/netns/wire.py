# SPDX-License-Identifier: Apache-2.0
"""Raw frames in and out of an interface of any namespace; scapy builds and reads them, the kernel's packet
socket carries them. VLAN tags that the kernel moves aside on receive are put back."""

import socket
import struct
import time

from scapy.layers.l2 import Ether

from vethlab.namespaces import in_namespace

_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_ETH_P_ALL = 3
_SOL_PACKET = 263
_PACKET_AUXDATA = 8
_PACKET_IGNORE_OUTGOING = 23
_AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata
_VLAN_VALID = 1 << 4
_TPID_VALID = 1 << 6


def _with_tag(frame, ancillary):
    for level, kind, data in ancillary:
        if (level, kind) != (_SOL_PACKET, _PACKET_AUXDATA):
            continue
        status, _, _, _, _, tci, tpid = _AUXDATA.unpack(data[:_AUXDATA.size])
        if status & _VLAN_VALID:
            tag = struct.pack("!HH", tpid if status & _TPID_VALID else 0x8100, tci)
            return frame[:12] + tag + frame[12:]
    return frame


class Wire:
    """A packet socket on interface `dev` in namespace `netns`."""

    def __init__(self, netns, dev):
        self._socket = in_namespace(netns, lambda: self._open(dev))

    @staticmethod
    def _open(dev):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        s.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        s.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        for force in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):  # frames in a switch's queue are still charged to us
            s.setsockopt(socket.SOL_SOCKET, force, 1 << 26)
        s.bind((dev, 0))
        return s

    def send(self, *frames):
        """Sends scapy packets or bytes, whole Ethernet frames without FCS, back to back: scapy takes a
        millisecond to build one, so all are built first."""
        for frame in [bytes(f) for f in frames]:
            self._socket.send(frame)

    def receive(self, count=1, match=lambda packet: True, limit_s=5.0):
        """Up to `count` frames (scapy Ether) for which `match` holds; fewer when `limit_s` seconds pass."""
        found, end = [], time.monotonic() + limit_s
        while len(found) < count and (left := end - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                frame, ancillary, _, _ = self._socket.recvmsg(65536, 256)
            except TimeoutError:
                break
            packet = Ether(_with_tag(frame, ancillary))
            if match(packet):
                found.append(packet)
        return found

    def drain(self):
        """Throws away what has arrived so far; returns how many frames that were."""
        self._socket.setblocking(False)
        count = 0
        try:
            while True:
                self._socket.recv(65536)
                count += 1
        except BlockingIOError:
            return count

    def close(self):
        self._socket.close()
