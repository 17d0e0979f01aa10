# SPDX-License-Identifier: Apache-2.0
"""A link of a lab that fails and comes back while traffic runs, the ways that change with it, and what the
traffic makes of it."""

import contextlib
import json
import threading
import time
from dataclasses import dataclass

from . import namespaces
from .waiting import WaitTimeout, wait_for

_DRAIN_S = 0.2
_TICK_S = 0.01

_STEP_MS = 50       # of the endpoint's series
STUCK_SHARE = 0.01  # of the goodput before the first failure: less than that is a standstill
STUCK_MS = 500      # a standstill of this length is a deadlock; a busy machine or a NAK may cost some 100 ms


@dataclass
class Event:
    ns: int  # CLOCK_MONOTONIC
    down: bool


class Failures:
    """Plays the topology's failure on a thread of its own: whoever watches the run is too slow for it."""

    def __init__(self, topology, names):
        self.events = []
        self._topology = topology
        self._failure = topology.failure
        self._names = names
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._has_begun = None
        self._error = None

    def start(self, has_begun):
        """Time counts from when `has_begun()` is true."""
        self._has_begun = has_begun
        if self._failure:
            self._thread.start()

    def check(self):
        """Raises what went wrong, if something did."""
        if self._error:
            raise self._error

    def stop(self):
        self._end.set()
        if self._thread.ident:
            self._thread.join()

    def _run(self):
        try:
            while not self._has_begun():
                if self._end.wait(_TICK_S):
                    return
            start = time.monotonic()
            for number in range(self._failure.times):
                due = start + self._failure.first_s + number * self._failure.every_s
                for at, act in ((due, self._fail), (due + self._failure.down_s, self._mend)):
                    if self._end.wait(max(0.0, at - time.monotonic())):
                        return
                    act()
        except Exception as e:  # handed over to check()
            self._error = e

    def _fail(self):
        self.events.append(Event(time.monotonic_ns(), True))
        # The ways change first, so that nothing is lost at the link itself: what this is about comes after.
        self._go(self._failure.link)
        with contextlib.suppress(WaitTimeout):  # in a deadlock it may wait for ever
            wait_for(self._is_drained, _DRAIN_S, "empty queues of the link")
        self._set_link("down")

    def _mend(self):
        self.events.append(Event(time.monotonic_ns(), False))
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


def _freed_ms(dogs, now_ms):
    """When watchdogs found the deadlocks that are in their histories."""
    return [now_ms - int(entry["detected_ms_ago"]) for q in dogs for entry in q.get("history", [])]


def figures(events, result, hook_flows, watchdogs, now_ns):
    """What each failure did to the goodput (steps of 50 ms). `hook_flows`: switch -> `show pfc hook-flows`;
    `watchdogs`: switch -> `show pfc-watchdog`, asked at `now_ns`. A deadlock is a long standstill, or one that a
    watchdog found."""
    dogs = [q for reply in watchdogs.values() for q in reply.get("queues", [])]
    steps = [(p["t_ms"], p["goodput_mbps"]) for p in result.get("series", [])]
    downs = [(e.ns - result["start_ns"]) / 1e6 for e in events if e.down]
    before = _mean([s for s in steps if s[0] <= downs[0]][2:]) if downs else 0
    freed = _freed_ms(dogs, (now_ns - result["start_ns"]) / 1e6)
    stuck, deadlocks = [], 0
    for start, end in zip(downs, [*downs[1:], float("inf")]):
        here = _standstills([s for s in steps if start < s[0] <= end], before * STUCK_SHARE)
        stuck.append(round(max((length for _, length in here), default=0)))
        deadlocks += stuck[-1] >= STUCK_MS or any(start < t <= end for t in freed)
    return {
        "times": len(downs),
        "deadlocks": deadlocks,
        "stuck_ms": stuck,
        "goodput_before_mbps": before,
        "goodput_end_mbps": _mean(steps[-10:]),
        "queues_freed": sum(int(q["deadlocks"]) for q in dogs),
        "packets_freed": sum(int(q["discarded"]) for q in dogs),
        "hook_flows": sum(len(reply.get("flows", [])) for reply in hook_flows.values()),
        "hook_packets": sum(int(reply.get("moved", 0)) for reply in hook_flows.values()),
    }
