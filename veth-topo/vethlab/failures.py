# SPDX-License-Identifier: Apache-2.0
"""A link of a lab that fails and comes back while traffic runs, the ways that change with it, and what the
traffic makes of it."""

import contextlib
import json
import time
from dataclasses import dataclass

from . import namespaces
from .waiting import WaitTimeout, wait_for

_DRAIN_S = 0.2

_STEP_MS = 50       # of the endpoint's series
STUCK_SHARE = 0.01  # of the goodput before the first failure: less than that is a standstill
STUCK_MS = 100      # a standstill of this length is a deadlock; a detour alone takes some 20 ms


@dataclass
class Event:
    ns: int  # CLOCK_MONOTONIC
    down: bool


class Failures:
    """Plays the topology's failure; step() is to be called again and again while traffic runs."""

    def __init__(self, topology, names):
        self.events = []
        self._topology = topology
        self._failure = topology.failure
        self._names = names
        self._start = None

    def step(self):
        """Does what is due. Time counts from the first call."""
        if self._failure is None:
            return
        now = time.monotonic()
        self._start = now if self._start is None else self._start
        done = len(self.events)
        if done >= 2 * self._failure.times:
            return
        due = self._failure.first_s + done // 2 * self._failure.every_s + done % 2 * self._failure.down_s
        if now - self._start < due:
            return
        self.events.append(Event(time.monotonic_ns(), done % 2 == 0))
        if done % 2 == 0:
            # The ways change first, so that nothing is lost at the link itself: what this is about comes after.
            self._go(self._failure.link)
            with contextlib.suppress(WaitTimeout):  # in a deadlock it may wait for ever
                wait_for(self._is_drained, _DRAIN_S, "empty queues of the link")
            self._set_link("down")
        else:
            self._set_link("up")
            for end in self._link.ends:
                namespaces.wait_forwarding(self._names[end.node])
            self._go("")

    def _is_drained(self):
        queues = [namespaces.run_tool("tc", "-n", self._names[end.node], "-s", "-j", "qdisc", "show", "dev", end.name)
                  for end in self._link.ends]
        return not any(qdisc["qlen"] for text in queues for qdisc in json.loads(text))

    @property
    def _link(self):
        return next(link for link in self._topology.links if link.name == self._failure.link)

    def _set_link(self, state):
        for end in self._link.ends:
            namespaces.ip_batch([f"link set dev {end.name} {state}"], netns=self._names[end.node])

    def _go(self, without):
        """Ways that do without that link, where they differ from those without it or with it."""
        changed = {}
        for host in self._topology.hosts:
            now = self._topology.next_hops(host.name, without)
            for other in ("", self._failure.link):
                for switch, port in self._topology.next_hops(host.name, other).items():
                    if now.get(switch, port) != port:
                        changed.setdefault(switch, {})[host.mac] = now[switch]
        for switch, entries in changed.items():
            namespaces.add_fdb(self._names[switch], entries.items())


def _standstills(steps, level):
    """(start, length) in ms of the times in which the goodput was below `level`."""
    found, before, since = [], steps[0][0] - _STEP_MS if steps else 0, None
    for t_ms, mbps in steps:
        if mbps < level:
            since = before if since is None else since
        elif since is not None:
            found.append((since, before - since))
            since = None
        before = t_ms
    if since is not None:
        found.append((since, before - since))
    return found


def _mean(steps):
    return round(sum(mbps for _, mbps in steps) / len(steps), 3) if steps else 0


def figures(events, result, hook_flows, watchdogs):
    """What each failure did to the goodput (steps of 50 ms). `hook_flows`: switch -> `show pfc hook-flows`;
    `watchdogs`: switch -> `show pfc-watchdog`."""
    dogs = [q for reply in watchdogs.values() for q in reply.get("queues", [])]
    steps = [(p["t_ms"], p["goodput_mbps"]) for p in result.get("series", [])]
    downs = [(e.ns - result["start_ns"]) / 1e6 for e in events if e.down]
    before = _mean([s for s in steps if s[0] <= downs[0]][2:]) if downs else 0
    stuck = []
    for start, end in zip(downs, [*downs[1:], float("inf")]):
        here = _standstills([s for s in steps if start < s[0] <= end], before * STUCK_SHARE)
        stuck.append(round(max((length for _, length in here), default=0)))
    return {
        "times": len(downs),
        "deadlocks": sum(ms >= STUCK_MS for ms in stuck),
        "stuck_ms": stuck,
        "goodput_before_mbps": before,
        "goodput_end_mbps": _mean(steps[-10:]),
        "queues_freed": sum(int(q["deadlocks"]) for q in dogs),
        "packets_freed": sum(int(q["discarded"]) for q in dogs),
        "hook_flows": sum(len(reply.get("flows", [])) for reply in hook_flows.values()),
        "hook_packets": sum(int(reply.get("moved", 0)) for reply in hook_flows.values()),
    }
