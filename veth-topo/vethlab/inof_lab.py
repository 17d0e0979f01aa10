# SPDX-License-Identifier: Apache-2.0
"""The lab inof-direct: links of disks fail and come back; how long until each server knows?

What each host should be told is worked out from the topology here, never asked of the daemon."""

import time
from dataclasses import dataclass

from . import inof_frames as frames, namespaces
from .inof_hosts import Crowd, InofHost
from .rundir import RunDir
from .switchd import SwitchDaemon
from .topology import TopologyError, parameters_of, read_file, variants_of

SWITCHES = ("a", "b")
_SETTLE_S = 0.25   # in which nothing more may come after the last that was expected
_LIMIT_S = 5.0
_QUIET_S = 2.2     # between two failures of a link, so that damping has no part in it
_LIMITS = {"join": 5, "link-down": 10}  # milliseconds, for the report


@dataclass(frozen=True)
class Plan:
    """Who is where. A host's interface at switch s has the address 10.<switch>.<kind>.<number>."""
    servers: int
    disks: int
    variant: str

    def names(self):
        return [f"srv{i + 1}" for i in range(self.servers)] + [f"disk{i + 1}" for i in range(self.disks)]

    def address(self, host, switch):
        kind, number = (1, int(host[3:])) if host.startswith("srv") else (2, int(host[4:]))
        return f"10.{77 + SWITCHES.index(switch)}.{kind}.{number}"

    def dialect(self, host):
        if self.variant == "mixed":
            return frames.ODCC if int(host[-1]) % 2 else frames.CHINA_MOBILE
        return frames.DIALECTS[self.variant]

    def zones(self, host):
        if host.startswith("srv"):
            return {"data", "logs"}
        return {"data" if int(host[4:]) % 2 else "logs"}

    def mates(self, host):
        """Hosts that are told of this one, on each switch."""
        return {h for h in self.names() if h != host and self.zones(h) & self.zones(host)}

    def zone_tables(self):
        return [{"name": zone, "hosts": [self.address(h, s) for s in SWITCHES for h in self.names()
                                         if zone in self.zones(h)]} for zone in ("data", "logs")]


class InofLab:
    def __init__(self, plan, rounds, tools, keep):
        self.plan, self.rounds, self._tools, self._keep = plan, rounds, tools, keep
        self.rundir = RunDir().create()
        self.daemons, self.crowd, self.events, self.wrong = {}, None, {}, {"leaves": 0, "joins": 0}
        self.ns = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self._keep and kind is None:
            return
        if self.crowd:
            self.crowd.close()
        try:
            for daemon in self.daemons.values():
                daemon.detach_and_stop()
        finally:
            self.rundir.remove()

    def build(self):
        self.ns = {n: namespaces.ns_name(self.rundir.run_id, n) for n in (*SWITCHES, *self.plan.names())}
        self.rundir.add_namespaces(list(self.ns.values()))
        namespaces.create(list(self.ns.values()))
        for number, host in enumerate(self.plan.names()):
            for i, switch in enumerate(SWITCHES):
                mac = f"02:00:00:{i:02x}:00:{number + 1:02x}"
                namespaces.add_veth((self.ns[host], f"eth{i}", mac), (self.ns[switch], host, ""))
        for switch in SWITCHES:
            namespaces.add_bridge(self.ns[switch], self.plan.names())
            namespaces.wait_forwarding(self.ns[switch])

    def start(self):
        for switch in SWITCHES:
            daemon = SwitchDaemon(self._tools, self.rundir, switch, self.ns[switch])
            self.daemons[switch] = daemon
            tables = {"lldp": {"enabled": True},
                      "inof": {"on": True, "keep_changes": False, "zone": self.plan.zone_tables()}}
            daemon.configure({}, [{"name": h} for h in self.plan.names()], tables=tables)
            daemon.start()
        for daemon in self.daemons.values():
            daemon.wait_ready()
        self.crowd = Crowd([
            InofHost(f"{host}@{switch}", self.ns[host], f"eth{i}", f"02:00:00:{i:02x}:00:{number + 1:02x}",
                     self.plan.address(host, switch), self.plan.dialect(host),
                     frames.SERVER if host.startswith("srv") else frames.CLIENT)
            for number, host in enumerate(self.plan.names()) for i, switch in enumerate(SWITCHES)])

    def _host(self, host, switch):
        return self.crowd.hosts[f"{host}@{switch}"]

    def _row(self, what, reason):
        return self.events.setdefault((what, reason), {"count": 0, "expected": 0, "notified": 0, "ms": []})

    def _expect(self, what, reason, online, start_ns, subject, told_hosts, names=None):
        """Waits until all of `told_hosts` know of `subject`; notes times and whatever was told besides. The row that
        a host counts in is `what`, or what `names` says of it."""
        name_of = names or (lambda host: what)
        waiting = set(told_hosts)

        def right(t):
            m = t.message
            return t.host in told_hosts and (m.subject, m.online, m.reason) == (subject, online, reason)

        def all_told():
            waiting.difference_update(t.host for t in self.crowd.told if right(t))
            return not waiting

        self.crowd.pump(_LIMIT_S, all_told)
        self.crowd.pump(_SETTLE_S)
        for name in {name_of(h) for h in told_hosts} if names else {what}:
            self._row(name, reason)["count"] += 1
        for host in told_hosts:
            self._row(name_of(host), reason)["expected"] += 1
        seen = set()
        for t in self.crowd.take():
            if t.repeated:
                continue
            if right(t) and t.host not in seen:
                seen.add(t.host)
                row = self._row(name_of(t.host), reason)
                row["notified"] += 1
                row["ms"].append((t.time_ns - start_ns) / 1e6)
            else:
                self._count_wrong(t)

    def _count_wrong(self, told):
        self.wrong["joins" if told.message.online else "leaves"] += 1

    def first_joins(self):
        """Hosts join one after the other: each is told of to those of its zones that are there already."""
        for switch in SWITCHES:
            present = []
            for host in self.plan.names():
                me = self._host(host, switch)
                start = me.announce()
                mates = [h for h in present if h in self.plan.mates(host)]
                self._join(me, start, switch, mates)
                present.append(host)

    def _join(self, me, start, switch, mates):
        """The mates are told of the host (what is timed), and it of them (the full state)."""
        known = {self.plan.address(h, switch) for h in mates}
        told = {f"{h}@{switch}" for h in mates}

        def full():
            return known <= {t.message.subject for t in self.crowd.told if t.host == me.name}

        self.crowd.pump(_LIMIT_S, full)
        own = [t for t in self.crowd.told if t.host == me.name and t.message.online and not t.repeated
               and t.message.subject in known]
        self.crowd.told = [t for t in self.crowd.told if t not in own]
        row = self._row("full-state", 0)
        row["count"] += 1
        row["expected"] += len(known)
        row["notified"] += len({t.message.subject for t in own})
        row["ms"] += [(t.time_ns - start) / 1e6 for t in own]
        self._expect("join", 0, True, start, me.address, told)

    def failures(self, progress):
        """Each disk's link to each switch goes down and comes back."""
        disks = [h for h in self.plan.names() if h.startswith("disk")]
        last = {}
        for turn in range(self.rounds):
            for disk in disks:
                for i, switch in enumerate(SWITCHES):
                    progress(f"round {turn + 1}, {disk} at {switch}")
                    quiet = last.get((disk, switch), 0) + _QUIET_S - time.monotonic()
                    self.crowd.pump(max(0, quiet))
                    self._fail(disk, f"eth{i}", switch)
                    last[disk, switch] = time.monotonic()

    def _fail(self, disk, dev, switch):
        me, mates = self._host(disk, switch), sorted(self.plan.mates(disk))
        self.crowd.take()
        start = namespaces.in_namespace(self.ns[disk], lambda: set_link(dev, False))
        self._expect("link-down", 1, False, start, me.address, {f"{h}@{switch}" for h in mates})
        namespaces.in_namespace(self.ns[disk], lambda: set_link(dev, True))
        namespaces.wait_forwarding(self.ns[switch])
        self.crowd.pump(_LIMIT_S, lambda: self._sees_link(switch, disk))
        self._join(me, me.announce(), switch, mates)

    def _sees_link(self, switch, port):
        ports = self.daemons[switch].ctl("show", "ports", port)["ports"]
        return ports and ports[0]["link_up"]

    def outcome(self):
        totals = [d.ctl("show", "inof", "statistics")["total"] for d in self.daemons.values()]
        acked = sum(int(t["acked"]) for t in totals)
        sent = sum(int(t["sent"]) for t in totals)
        rows = []
        for (what, reason), row in self.events.items():
            # ACKs are counted in all; as long as none is missing, each event has as many as it had notifications.
            rows.append({"what": what, "reason": reason, "count": row["count"], "expected": row["expected"],
                         "notified": row["notified"], "acked": row["notified"] if acked == sent else 0,
                         "ms": figures(row["ms"])})
        return {"lab": "inof-direct", "variant": self.plan.variant, "hosts": len(self.plan.names()),
                "switches": len(SWITCHES), "events": rows, "wrong_leaves": self.wrong["leaves"],
                "wrong_joins": self.wrong["joins"],
                "retransmitted": sum(int(t["retransmitted"]) for t in totals)}


def set_link(dev, up):
    """Takes a link down or up by one ioctl; returns the time just before, CLOCK_REALTIME in ns."""
    import fcntl
    import socket
    import struct
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sH14s", dev.encode(), 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(s, 0x8913, request))[1]  # SIOCGIFFLAGS
        flags = flags | 1 if up else flags & ~1                              # IFF_UP
        now = time.time_ns()
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", dev.encode(), flags, b""))  # SIOCSIFFLAGS
        return now


def figures(values):
    ordered = sorted(values)
    if not ordered:
        return {"p50": 0, "p99": 0, "max": 0}

    def at(share):
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return {"p50": at(0.5), "p99": at(0.99), "max": round(ordered[-1], 3)}


def run_variant(path, variant, given, tools, keep=False, progress=lambda text: None):
    document = read_file(path)
    if variant not in variants_of(document):
        raise TopologyError(f"no variant '{variant}'; {path.stem} has {', '.join(variants_of(document))}")
    values = parameters_of(document, given)
    plan = Plan(values["servers"], values["disks"], variant)
    with InofLab(plan, values["rounds"], tools, keep) as lab:
        progress("building")
        lab.build()
        progress("starting losslessd")
        lab.start()
        progress("hosts join")
        lab.first_joins()
        lab.failures(progress)
        return lab.outcome()


def table(outcomes):
    """The events of all variants, for people."""
    lines = [f"{'variant':14} {'event':12} {'reason':>6} {'count':>6} {'expected':>9} {'notified':>9} {'acked':>7} "
             f"{'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}"]
    for o in outcomes:
        for e in o["events"]:
            limit = f"   target p99 {_LIMITS[e['what']]} ms" if e["what"] in _LIMITS else ""
            lines.append(f"{o['variant']:14} {e['what']:12} {e['reason']:>6} {e['count']:>6} {e['expected']:>9} "
                         f"{e['notified']:>9} {e['acked']:>7} {e['ms']['p50']:>8} {e['ms']['p99']:>8} "
                         f"{e['ms']['max']:>8}{limit}")
        lines.append(f"{o['variant']:14} told in error: {o['wrong_leaves']} leaves, {o['wrong_joins']} joins; "
                     f"repeated: {o['retransmitted']}")
    return "\n".join(lines)
