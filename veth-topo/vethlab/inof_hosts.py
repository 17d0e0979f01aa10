# SPDX-License-Identifier: Apache-2.0
"""Hosts of an iNOF network, all in one process: they announce themselves, acknowledge what they are told, and note
when the kernel received it."""

import select
import socket
import struct
import time
from dataclasses import dataclass, field

from . import inof_frames as frames
from .namespaces import in_namespace

_SO_TIMESTAMPNS = 35
_SOL_PACKET = 263
_PACKET_ADD_MEMBERSHIP = 1
_PACKET_MR_MULTICAST = 0
_PACKET_IGNORE_OUTGOING = 23


@dataclass(frozen=True)
class Told:
    """A notification as a host received it."""
    host: str          # name of the host
    time_ns: int       # CLOCK_REALTIME, by the kernel
    message: frames.Notification
    repeated: bool     # this sequence number came before


@dataclass
class InofHost:
    """One interface with one address."""
    name: str
    netns: str
    dev: str
    mac: str
    address: str
    dialect: frames.Dialect = frames.ODCC
    role: int = frames.SERVER
    acknowledges: bool = True
    seen: set = field(default_factory=set)

    def __post_init__(self):
        self.socket = in_namespace(self.netns, self._open)

    def _open(self):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        s.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        s.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        s.bind((self.dev, self.dialect.ethertype))
        group = struct.pack("iHH8s", socket.if_nametoindex(self.dev), _PACKET_MR_MULTICAST, 6, frames.STATUS_GROUP)
        s.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, group)
        s.setblocking(False)
        return s

    def announce(self, **more):
        """Sends the announcement; returns the time just before, CLOCK_REALTIME in ns."""
        frame = frames.announcement(frames.mac_bytes(self.mac), self.address, self.dialect, self.role, **more)
        now = time.time_ns()
        self.socket.send(frame)
        return now

    def receive(self):
        """Takes one frame: the notifications in it, acknowledged. None: nothing there."""
        try:
            frame, ancillary, _, _ = self.socket.recvmsg(2048, 256)
        except (BlockingIOError, OSError):
            return None
        time_ns = time.time_ns()
        for _, kind, data in ancillary:
            if kind == _SO_TIMESTAMPNS:
                seconds, nanoseconds = struct.unpack("qq", data[:16])
                time_ns = seconds * 1_000_000_000 + nanoseconds
        messages = [m for m in frames.notifications(frame, self.dialect) if m.notified == self.address]
        if messages and self.acknowledges:
            self.socket.send(frames.ack(frames.mac_bytes(self.mac), self.dialect, messages))
        told = [Told(self.name, time_ns, m, m.sequence in self.seen) for m in messages]
        self.seen.update(m.sequence for m in messages)
        return told


class Crowd:
    """All hosts of a network; pump() lets them receive."""

    def __init__(self, hosts):
        self.hosts = {h.name: h for h in hosts}
        self.told = []
        self._poll = select.epoll()
        self._by_fd = {}
        for host in hosts:
            self._poll.register(host.socket, select.EPOLLIN)
            self._by_fd[host.socket.fileno()] = host

    def pump(self, limit_s, until=lambda: False):
        """Receives until `until` holds or `limit_s` seconds are over; whether it held."""
        end = time.monotonic() + limit_s
        while not until():
            left = end - time.monotonic()
            if left <= 0:
                return False
            for fd, _ in self._poll.poll(min(left, 0.05)):
                while (told := self._by_fd[fd].receive()) is not None:
                    self.told += told
        return True

    def take(self):
        """What was told since the last call."""
        told, self.told = self.told, []
        return told

    def close(self):
        self._poll.close()
        for host in self.hosts.values():
            host.socket.close()
