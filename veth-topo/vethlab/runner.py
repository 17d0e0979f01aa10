# SPDX-License-Identifier: Apache-2.0
"""Runs one variant of a lab: build, start, measure, and tear down whatever happens."""

import contextlib
import os
import sys
import time
from dataclasses import dataclass, field

from . import counters, dcbx, failures, namespaces, outcome, processes, samples
from .interrupts import held
from .rundir import RunDir
from .switchd import SwitchDaemon
from .traffic import DRAIN_LIMIT_S, Traffic, TrafficError, config_of

_TICK_S = 0.05
_SAMPLE_NS = 1_000_000
_MARKS_EVERY_S = 0.1


@dataclass
class Measured:
    """A variant's outcome and the series behind it. Times are CLOCK_MONOTONIC nanoseconds."""
    outcome: dict
    start_ns: int = 0                            # first packet of the traffic
    queue: list = field(default_factory=list)    # samples.QueueSample of the bottleneck, while traffic ran
    marks: list = field(default_factory=list)    # (ns, marked packets so far)
    goodput: list = field(default_factory=list)  # (ms since start, Mbit/s)
    thresholds: dict = field(default_factory=dict)  # kmin, kmax, limit of the bottleneck, where configured
    failures: list = field(default_factory=list)  # failures.Event
    pfc: dict = field(default_factory=dict)      # switch -> rows of counters.pfc_rows at the end
    missed_share: float = 0.0                    # of the sampler's ticks, 0 to 1: it woke too late


@contextlib.contextmanager
def _on_cpu(cpu):
    """Keeps this process, and what it starts meanwhile, on one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class LabRun:
    """The namespaces and processes of one variant. Use as a context manager: leaving it removes them all."""

    def __init__(self, topology, tools, seed=1, keep=False):
        self.topology = topology
        self.rundir = RunDir()
        self.namespaces = {n: namespaces.ns_name(self.rundir.run_id, n) for n in topology.nodes}
        self.daemons = {}
        self.host_daemons = {}
        self.dcbx = []  # rows of dcbx.wait_agreed
        self.traffic = None
        self.failures = failures.Failures(topology, self.namespaces)
        self.sampler = None
        self._tools = tools
        self._seed = seed
        self._keep = keep
        self._sinks = []
        cpus = sorted(os.sched_getaffinity(0))
        # Traffic and forwarding on one CPU keep a flow's packets in order; whoever watches uses another.
        self._traffic_cpu, self._watch_cpu = cpus[-1], cpus[0]

    def __enter__(self):
        self.rundir.create()
        return self

    def __exit__(self, kind, error, trace):
        if self._keep:
            self._say_kept()
            return
        with held():
            self.tear_down()

    def build(self):
        self.rundir.add_namespaces(list(self.namespaces.values()))
        namespaces.build(self.topology, self.rundir.run_id)
        self._sinks = [namespaces.open_mac_control_sink(self.namespaces[h.name]) for h in self.topology.hosts]

    def start_switches(self):
        for switch in self.topology.switches:
            if not switch.managed:
                continue
            daemon = SwitchDaemon(self._tools, self.rundir, switch.name, self.namespaces[switch.name])
            self.daemons[switch.name] = daemon
            ports = [{"name": link.end_at(switch.name).name, "rate": round(link.rate_mbit * 1_000_000),
                      **switch.port} for link in self.topology.links_of(switch.name)]
            if switch.file:
                daemon.configure_from(switch.file, {p["name"]: p["rate"] for p in ports})
            else:
                daemon.configure(switch.queues, ports, switch.groups, switch.hook_flows, switch.tables)
            daemon.start(die_with_parent=not self._keep)
        for daemon in self.daemons.values():
            daemon.wait_ready()
            # What opens a gate also sends what waited behind it: on another CPU that would overtake.
            daemon.pin_pfc_thread(self._traffic_cpu)

    def start_hosts(self):
        """losslessd on hosts that have a file, beside the traffic's own programs; then DCBX has to agree."""
        for host in self.topology.hosts:
            if not host.file:
                continue
            daemon = SwitchDaemon(self._tools, self.rundir, host.name, self.namespaces[host.name])
            self.host_daemons[host.name] = daemon
            daemon.configure_from(host.file, {link.end_at(host.name).name: round(link.rate_mbit * 1_000_000)
                                              for link in self.topology.links_of(host.name)})
            daemon.start(die_with_parent=not self._keep)
        for daemon in self.host_daemons.values():
            daemon.wait_ready()
            daemon.pin_pfc_thread(self._traffic_cpu)
        self.dcbx = dcbx.wait_agreed(self.topology, {**self.daemons, **self.host_daemons})

    def measure(self, progress):
        """Runs the traffic to its end. `progress(seconds, endpoint's status)` is called while it runs."""
        before = self._snapshot()
        self._start_sampler()
        config = config_of(self.topology, self.namespaces, self._seed, self._traffic_cpu)
        self.traffic = Traffic(self._tools, self.rundir, config)
        with _on_cpu(self._watch_cpu):
            self.traffic.start()  # moves to the other CPU itself
            self.failures.start(self.traffic.status)
            try:
                marks = self._watch(progress)
            finally:
                self.failures.stop()
        processes.stop(self.sampler)
        return self._evaluate(before, self._snapshot(), marks)

    def tear_down(self):
        if self.traffic and self.traffic.process:
            processes.stop(self.traffic.process)
        if self.sampler:
            processes.stop(self.sampler)
        try:
            for daemon in (*self.daemons.values(), *self.host_daemons.values()):
                daemon.detach_and_stop()
        finally:
            for sink in self._sinks:
                sink.close()
            self.rundir.remove()

    def _say_kept(self):
        lines = [f"kept: run {self.rundir.run_id} ({self.topology.variant}), files in {self.rundir.path}; "
                 f"`lab clean` removes it"]
        lines += [f"  nsenter --net=/run/netns/{d.netns} losslessctl --socket {d.socket} show queues"
                  for d in (*self.daemons.values(), *self.host_daemons.values())]
        print("\n".join(lines), file=sys.stderr)

    @property
    def _bottleneck(self):
        return self.topology.samples[0]

    @property
    def _samples_file(self):
        return self.rundir.path / "queue.csv"

    def _start_sampler(self):
        # All watched queues are at one switch for now: that of the bottleneck.
        point = self._bottleneck
        queues = [w for s in self.topology.samples if s.switch == point.switch
                  for w in ("--queue", f"{s.port}:{s.tc}")]
        command = [self._tools.path("lab-sampler"), "--netns", self.namespaces[point.switch], *queues,
                   "--out", self._samples_file, "--cpu", self._watch_cpu,
                   "--interval-us", _SAMPLE_NS // 1000]
        self.sampler = self.rundir.spawn(command, "sampler.log")

    def _ecn(self):
        return {name: counters.ecn_rows(d.ctl_running("show", "ecn")) for name, d in self.daemons.items()}

    def _pfc(self):
        return {name: counters.pfc_rows(d.ctl_running("show", "pfc")) for name, d in self.daemons.items()}

    def _ipcc_cnps(self):
        return counters.ipcc_sent({s.name: self.daemons[s.name].ctl_running("show", "ipcc")
                                   for s in self.topology.switches
                                   if any("ipcc" in queue for queue in s.queues.values())})

    def _hook_flows(self):
        return {s.name: self.daemons[s.name].ctl_running("show", "pfc", "hook-flows")
                for s in self.topology.switches if s.groups}

    def _watchdogs(self):
        return {name: d.ctl_running("show", "pfc-watchdog") for name, d in self.daemons.items()}

    def _snapshot(self):
        ecn = self._ecn()
        drops = {name: d.ctl_running("show", "packet-drop") for name, d in self.daemons.items()}
        return counters.take(self.topology, self.namespaces, ecn, drops), ecn

    def _watch(self, progress):
        """Until the traffic ends: checks that everybody lives, and follows the marks."""
        start = time.monotonic()
        limit_s = self.topology.duration_s + DRAIN_LIMIT_S
        marks, next_marks = [], start
        while self.traffic.running():
            now = time.monotonic()
            if now - start > limit_s:
                raise TrafficError(f"endpoint did not end within {limit_s:g} s")
            for daemon in (*self.daemons.values(), *self.host_daemons.values()):
                daemon.check_alive()
            if now >= next_marks:
                marks.append((time.monotonic_ns(), counters.ecn_totals(self._ecn())["marked"]))
                # At most a tenth of a CPU goes into asking, also where a process takes long to start.
                next_marks = now + max(_MARKS_EVERY_S, 10 * (time.monotonic() - now))
            self.failures.check()
            progress(min(now - start, self.topology.duration_s), self.traffic.status())
            time.sleep(_TICK_S)
        return marks

    def _evaluate(self, before, after, marks):
        (first, _), (last, ecn) = before, after
        result = self.traffic.result()
        pfc = self._pfc()
        point = self._bottleneck
        queue = samples.window(samples.read_queue(self._samples_file, point.port, point.tc),
                               self.topology.duration_s)
        built = outcome.build(self.topology, self._seed, result, last.since(first), ecn, pfc, queue,
                              self._ipcc_cnps())
        if self.topology.failure:
            built["failures"] = failures.figures(self.failures.events, result, self._hook_flows(), self._watchdogs(),
                                                 time.monotonic_ns())
        if self.dcbx:
            built["dcbx"] = self.dcbx
        switch = next(s for s in self.topology.switches if s.name == point.switch)
        table = switch.queues.get(str(point.tc), {})
        return Measured(built, start_ns=queue[0].t_ns if queue else 0, queue=queue, marks=marks,
                        goodput=[(p["t_ms"], p["goodput_mbps"]) for p in result.get("series", [])],
                        thresholds={**table.get("ecn", {}), "limit": table.get("limit")},
                        pfc=pfc, failures=self.failures.events, missed_share=1 - len(queue) / self._ticks(queue))

    @staticmethod
    def _ticks(queue):
        """Samples that there would be without a miss."""
        span_ns = queue[-1].t_ns - queue[0].t_ns if queue else 0
        return max(1, len(queue), span_ns // _SAMPLE_NS)


def run_variant(topology, tools, seed=1, keep=False, progress=lambda seconds, status: None):
    """Builds the lab, runs its traffic and returns Measured; nothing is left behind unless `keep`."""
    with LabRun(topology, tools, seed, keep) as run:
        progress(0.0, "building")
        run.build()
        progress(0.0, "starting losslessd")
        run.start_switches()
        if any(host.file for host in topology.hosts):
            progress(0.0, "waiting for DCBX")
            run.start_hosts()
        return run.measure(progress)
