# SPDX-License-Identifier: Apache-2.0
"""The lab inof-fabric: hosts behind two switches hear of one another over route reflectors, while links, reflectors
and switches fail.

What each host should be told is worked out from the topology here, never asked of the daemons."""

import signal
import time
from dataclasses import dataclass

from . import inof_frames as frames, namespaces
from .inof_hosts import Crowd, InofHost
from .inof_lab import InofLab, set_link, _LIMIT_S, _QUIET_S
from .switchd import SwitchDaemon
from .topology import TopologyError, parameters_of, read_file, variants_of
from .waiting import wait_for

CLIENTS, REFLECTORS = ("a", "d"), ("b", "c")
SWITCHES = (*CLIENTS, *REFLECTORS)
ASN = 65001
HUB = "hub"
_UP_S = 30
_STILL_S = 2.0  # in which nothing may come after something that hosts must not notice


@dataclass(frozen=True)
class Plan:
    servers: int
    disks: int
    variant: str
    bfd: int = 0  # ms; 0: off

    def names(self):
        return [f"srv{i + 1}" for i in range(self.servers)] + self.disk_names()

    def disk_names(self):
        return [f"disk{i + 1}" for i in range(self.disks)]

    def switch(self, host):
        return "a" if host.startswith("srv") else "d"

    def address(self, host):
        return f"10.77.{1 if host.startswith('srv') else 2}.{int(host.lstrip('srvdik'))}"

    def mac(self, host):
        return f"02:00:00:{77 if host.startswith('srv') else 78:02x}:00:{int(host.lstrip('srvdik')):02x}"

    def router(self, switch):
        return f"10.99.0.{SWITCHES.index(switch) + 1}"

    def dialect(self, host):
        if self.variant == "mixed":
            return frames.ODCC if int(host[-1]) % 2 else frames.CHINA_MOBILE
        return frames.DIALECTS[self.variant]

    def neighbors(self, switch):
        """The tables of [[bgp_neighbor]]."""
        others = [s for s in REFLECTORS if s != switch]
        out = [{"address": self.router(s)} for s in others]
        if switch in REFLECTORS:
            out += [{"address": self.router(s), "client": True} for s in CLIENTS]
        return [{**n, "bfd": self.bfd > 0} for n in out]


class FabricLab(InofLab):
    def __init__(self, plan, rounds, hold, tools, keep):
        super().__init__(plan, rounds, tools, keep)
        self.hold = hold

    def build(self):
        plan = self.plan
        self.ns = {n: namespaces.ns_name(self.rundir.run_id, n) for n in (*SWITCHES, HUB, *plan.names())}
        self.rundir.add_namespaces(list(self.ns.values()))
        namespaces.create(list(self.ns.values()))
        for switch in SWITCHES:
            namespaces.add_veth((self.ns[switch], "up", ""), (self.ns[HUB], switch, ""))
            namespaces.run_tool("nsenter", f"--net=/run/netns/{self.ns[switch]}", "ip", "addr", "add",
                                f"{plan.router(switch)}/24", "dev", "up")
        namespaces.add_bridge(self.ns[HUB], SWITCHES)
        for host in plan.names():
            namespaces.add_veth((self.ns[host], "eth0", plan.mac(host)), (self.ns[plan.switch(host)], host, ""))
        for switch in CLIENTS:
            namespaces.add_bridge(self.ns[switch], [h for h in plan.names() if plan.switch(h) == switch])
            namespaces.wait_forwarding(self.ns[switch])
        namespaces.wait_forwarding(self.ns[HUB])

    def start(self):
        for switch in SWITCHES:
            daemon = SwitchDaemon(self._tools, self.rundir, switch, self.ns[switch])
            self.daemons[switch] = daemon
            ports = [h for h in self.plan.names() if self.plan.switch(h) == switch] or ["up"]
            tables = {"lldp": {"enabled": True}, "inof": {"on": True, "keep_changes": False},
                      "bgp": {"on": True, "asn": ASN, "router_id": self.plan.router(switch), "hold_s": self.hold,
                              "connect_retry_s": 1, "local_pref": 200 if switch in REFLECTORS else 100},
                      "bgp_neighbor": self.plan.neighbors(switch)}
            if self.plan.bfd:
                tables["bfd"] = {"transmit_ms": self.plan.bfd, "receive_ms": self.plan.bfd, "multiplier": 3}
            daemon.configure({}, [{"name": p} for p in ports], tables=tables)
            daemon.start()
        for daemon in self.daemons.values():
            daemon.wait_ready()
        self.wait_sessions()
        self.crowd = Crowd([InofHost(h, self.ns[h], "eth0", self.plan.mac(h), self.plan.address(h),
                                     self.plan.dialect(h), frames.SERVER if h.startswith("srv") else frames.CLIENT)
                            for h in self.plan.names()])

    def wait_sessions(self, of=CLIENTS):
        def up():
            for switch in of:
                found = self.daemons[switch].ctl_running("show", "bgp", "summary")["neighbors"]
                if any(n["state"] != "Established" for n in found):
                    return False
            return True
        wait_for(up, _UP_S, f"sessions of {', '.join(of)}", every_s=0.05)

    def _host(self, host, switch=None):
        return self.crowd.hosts[host]

    def joins(self):
        """One after the other: each is told of to those that are there, at its own switch and at the other."""
        for number, host in enumerate(self.plan.names()):
            self._arrive(host, self.plan.names()[:number])

    def _arrive(self, host, present):
        me = self._host(host)
        start = me.announce()
        known = {self.plan.address(h) for h in present}

        def full():
            return known <= {t.message.subject for t in self.crowd.told if t.host == host}

        self.crowd.pump(_LIMIT_S, full)
        self.crowd.told = [t for t in self.crowd.told if t.host != host]
        near = {h for h in present if self.plan.switch(h) == self.plan.switch(host)}
        self._split("join", 0, True, start, me.address, near, set(present) - near)

    def _split(self, what, reason, online, start, subject, near, far):
        """What is told at the host's own switch and what crosses the fabric are two rows."""
        told = near | far
        self._expect(what, reason, online, start, subject, told, names=lambda h: what if h in near else f"{what}-remote")

    def failures(self, progress):
        """Each disk's link goes down and comes back."""
        disks, last = self.plan.disk_names(), {}
        for turn in range(self.rounds):
            for disk in disks:
                progress(f"round {turn + 1}, link of {disk}")
                self.crowd.pump(max(0, last.get(disk, 0) + _QUIET_S - time.monotonic()))
                others = [h for h in self.plan.names() if h != disk]
                near = {h for h in others if self.plan.switch(h) == "d"}
                start = namespaces.in_namespace(self.ns[disk], lambda: set_link("eth0", False))
                self._split("link-down", 1, False, start, self.plan.address(disk), near, set(others) - near)
                namespaces.in_namespace(self.ns[disk], lambda: set_link("eth0", True))
                namespaces.wait_forwarding(self.ns["d"])
                self.crowd.pump(_LIMIT_S, lambda d=disk: self._sees_link("d", d))
                self._arrive(disk, others)
                last[disk] = time.monotonic()

    def unnoticed(self, what, event):
        """Something that no host may be told of."""
        self.crowd.take()
        event()
        self.crowd.pump(_STILL_S)
        self._row(what, 0)["count"] += 1
        for t in self.crowd.take():
            if not t.repeated:
                self._count_wrong(t)

    def kill_reflector(self):
        daemon = self.daemons["b"]
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()

    def restart_reflector(self):
        self.daemons["b"].start()
        self.daemons["b"].wait_ready()
        self.wait_sessions()

    def restart_client(self):
        daemon = self.daemons["d"]
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait()
        daemon.start()
        daemon.wait_ready()
        self.wait_sessions(("d",))
        for disk in self.plan.disk_names():
            self._host(disk).announce()
        wait_for(lambda: daemon.ctl("show", "inof", "status")["local_hosts"] == self.plan.disks, _UP_S, "the disks again",
                 every_s=0.05)
        # The disks are told anew of all that their switch knows, as it starts with nothing: no wrong news.
        self.crowd.pump(_STILL_S)
        self.crowd.told = [t for t in self.crowd.told if not (t.message.online and t.host.startswith("disk"))]

    def cut(self):
        """The way to switch d is cut: its disks are lost for the servers, with reason 3."""
        start = namespaces.in_namespace(self.ns[HUB], lambda: set_link("d", False))
        servers = {h for h in self.plan.names() if h.startswith("srv")}
        disks = {self.plan.address(d) for d in self.plan.disk_names()}
        row = self._row("switch-lost", 3)
        row["count"] += 1
        row["expected"] += len(servers) * len(disks)
        seen = {}

        def right(t):
            return t.host in servers and t.message.subject in disks and not t.message.online and t.message.reason == 3

        def lost():
            for t in self.crowd.told:
                if right(t) and not t.repeated:
                    seen.setdefault((t.host, t.message.subject), (t.time_ns - start) / 1e6)
            return len(seen) == len(servers) * len(disks)

        self.crowd.pump(self.hold + _LIMIT_S, lost)
        row["notified"] += len(seen)
        row["ms"] += seen.values()
        # Switch d has lost the servers as well; its disks are told, which is right.
        addresses = {self.plan.address(s) for s in servers}
        self.crowd.pump(1.0)
        for t in self.crowd.take():
            if not t.repeated and not right(t) and not (t.host.startswith("disk") and t.message.subject in addresses):
                self._count_wrong(t)

    def outcome(self):
        return {**super().outcome(), "lab": "inof-fabric", "switches": len(SWITCHES)}


def run_variant(path, variant, given, tools, keep=False, progress=lambda text: None):
    document = read_file(path)
    if variant not in variants_of(document):
        raise TopologyError(f"no variant '{variant}'; {path.stem} has {', '.join(variants_of(document))}")
    values = parameters_of(document, given)
    plan = Plan(values["servers"], values["disks"], variant, values["bfd"])
    with FabricLab(plan, values["rounds"], values["hold"], tools, keep) as lab:
        progress("building")
        lab.build()
        progress("starting losslessd")
        lab.start()
        progress("hosts join")
        lab.joins()
        lab.failures(progress)
        progress("a reflector is killed and comes back")
        lab.unnoticed("reflector-killed", lab.kill_reflector)
        lab.unnoticed("reflector-back", lab.restart_reflector)
        progress("a client restarts")
        lab.unnoticed("client-restart", lab.restart_client)
        progress("a switch is cut off")
        lab.cut()
        return lab.outcome()
