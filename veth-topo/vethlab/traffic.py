# SPDX-License-Identifier: Apache-2.0
"""The RoCEv2 endpoint of a lab: what it is told, and its result. One process plays all hosts."""

import json

from . import processes

# The endpoint lets queues drain and retransmissions finish after the traffic has ended.
DRAIN_LIMIT_S = 30


class TrafficError(RuntimeError):
    """The endpoint failed; the message has the tail of its log."""


def config_of(topology, namespaces, seed, cpu):
    """The endpoint's configuration, see docs/endpoint.md."""
    hosts = []
    for host in topology.hosts:
        link = topology.links_of(host.name)[0]
        hosts.append({"name": host.name, "netns": namespaces[host.name], "dev": link.end_at(host.name).name,
                      "mac": host.mac, "ip": host.ip, "link_mbps": link.rate_mbit})
    return {"seed": seed, "duration_s": topology.duration_s, "cpu": cpu, "hosts": hosts,
            "flows": topology.flows, "dcqcn": topology.dcqcn, **topology.endpoint}


class Traffic:
    """One run of the endpoint."""

    def __init__(self, tools, rundir, config):
        self._config = rundir.path / "traffic.json"
        self._result = rundir.path / "traffic-result.json"
        self._log = rundir.path / "endpoint.log"
        self._rundir = rundir
        self._program = tools.path("endpoint")
        self.process = None
        self._config.write_text(json.dumps(config, indent=1))

    def start(self):
        command = [self._program, "--config", self._config, "--out", self._result, "--progress"]
        self.process = self._rundir.spawn(command, self._log.name)

    def running(self):
        """True while it runs; TrafficError when it failed."""
        code = self.process.poll()
        if code not in (None, 0):
            raise TrafficError(f"endpoint: {processes.exit_text(code)}\n--- end of {self._log.name} ---\n"
                               f"{processes.tail(self._log) or '(empty)'}")
        return code is None

    def status(self):
        """Its last step in words, "" before the first."""
        try:
            step = json.loads(processes.tail(self._log, 1))
            return (f"{step['goodput_mbps']:.1f} Mbit/s  {step['cnp']} CNPs  "
                    f"{step['retransmitted']} retransmitted")
        except (ValueError, KeyError, TypeError):
            return ""

    def result(self):
        return json.loads(self._result.read_text())
