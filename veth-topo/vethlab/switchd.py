# SPDX-License-Identifier: Apache-2.0
"""losslessd of one switch of a lab: its configuration, start, commands and end."""

import contextlib
import json
import os
import subprocess
from pathlib import Path

from . import processes
from .toml_text import table_text
from .waiting import WaitTimeout, wait_for

CTL_LIMIT_S = 60  # it answers within 30 ms; an emulated machine on a busy one has taken more than 10 s


class DaemonError(RuntimeError):
    """The daemon did not start, ended early or refused; the message has the tail of its log."""


def config_text(instance, socket, queues, ports, groups=None, hook_flows=(), tables=None):
    """A configuration of losslessd. `queues`: {"3": {...}}; `ports`: [{"name": ..., ...}]; `groups`: port group
    -> ports; `hook_flows`: [{"dscp": [...], ...}]; `tables`: further top-level tables by name, a list for an
    array of tables, "" for plain keys."""
    tables = tables or {}
    parts = [table_text("", {"instance": instance, **tables.get("", {})}).lstrip(),
             table_text("[api]", {"socket": str(socket)})]
    for name, table in tables.items():
        if name:
            parts += [table_text(f"[[{name}]]", t) for t in table] if isinstance(table, list) else [table_text(f"[{name}]", table)]
    parts += [table_text(f"[queue.{tc}]", table) for tc, table in sorted(queues.items())]
    parts += [table_text("[[port]]", port) for port in ports]
    parts += [table_text("[[port_group]]", {"name": name, "ports": members})
              for name, members in (groups or {}).items()]
    parts += [table_text("[[hook_flow]]", rule) for rule in hook_flows]
    return "\n".join(parts)


class SwitchDaemon:
    """One losslessd process in a namespace, with its files in the run's folder."""

    def __init__(self, tools, rundir, name, netns):
        self.instance = f"ll-{rundir.run_id}-{name}"[:32].lower()
        self.netns = netns
        self.socket = rundir.path / f"{name}.sock"
        self.config = rundir.path / f"{name}.toml"
        self.log = rundir.path / f"{name}.log"
        self.process = None
        self._tools = tools
        self._rundir = rundir

    def configure(self, queues, ports, groups=None, hook_flows=(), tables=None):
        self.config.write_text(config_text(self.instance, self.socket, queues, ports, groups, hook_flows, tables))

    def configure_from(self, document, rates):
        """A whole configuration as it is, but for the instance, its socket and the ports' rates (bit/s by name)."""
        named = {port["name"] for port in document["port"]}
        if named != set(rates):
            raise DaemonError(f"the configuration names the ports {', '.join(sorted(named))}; there are {', '.join(sorted(rates))}")
        tables = {name: table for name, table in document.items()
                  if isinstance(table, (dict, list)) and name not in ("api", "queue", "port", "port_group", "hook_flow")}
        tables[""] = {name: value for name, value in document.items() if not isinstance(value, (dict, list))}
        tables[""].pop("instance", None)
        ports = [{**port, "rate": rates[port["name"]]} for port in document["port"]]
        groups = {group["name"]: group["ports"] for group in document.get("port_group", [])}
        self.configure(document.get("queue", {}), ports, groups, document.get("hook_flow", []), tables)

    def start(self, die_with_parent=True, more=(), launcher=()):
        """Starts the daemon; does not wait for it. `more`: further options; `launcher`: a command that runs it."""
        if self.process is None:
            self._rundir.add_instance(self.instance)
        command = [*launcher, self._tools.path("losslessd"), "--config", self.config, *more]
        self.process = self._rundir.spawn(command, self.log.name, self.netns, die_with_parent)

    def wait_ready(self, limit_s=20.0):
        """Waits until every configured port is attached."""
        last = {}

        def ready():
            self.check_alive()
            try:
                ports = self.ctl("show", "ports")["ports"]
            except DaemonError as e:
                last["error"] = str(e)
                return False
            last["states"] = {p["name"]: p["state"] for p in ports}
            return ports and all(state == "ATTACHED" for state in last["states"].values())

        try:
            wait_for(ready, limit_s, f"ports of {self.instance} attached", every_s=0.05)
        except WaitTimeout as e:
            raise self._error(f"{e}; last seen: {last}") from e

    def pin_pfc_thread(self, cpu):
        """Keeps the thread that opens and closes gates on one CPU."""
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "lossless-pfc":
                os.sched_setaffinity(int(task.name), {cpu})

    def run_ctl(self, *words):
        """Runs losslessctl against this daemon; the finished process with its text."""
        command = [self._tools.path("losslessctl"), "--socket", str(self.socket), *words]
        try:
            return subprocess.run(command, text=True, capture_output=True, check=False, timeout=CTL_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise DaemonError(f"losslessctl {' '.join(words)}: no answer within {CTL_LIMIT_S} s") from None

    def ctl(self, *words):
        """The JSON answer of a losslessctl command."""
        done = self.run_ctl(*words, "--json")
        if done.returncode != 0:
            said = done.stderr.strip() or processes.exit_text(done.returncode)
            raise DaemonError(f"losslessctl {' '.join(words)}: {said}")
        return json.loads(done.stdout)

    def ctl_running(self, *words):
        """As ctl(), for a daemon that was ready: a failure because it has just died is reported as that."""
        try:
            return self.ctl(*words)
        except DaemonError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(1.0)  # its socket closes a little before it can be waited for
            self.check_alive()
            raise

    def check_alive(self):
        code = self.process.poll()
        if code is not None:
            raise self._error(f"losslessd ended: {processes.exit_text(code)}")

    def detach_and_stop(self):
        """Gives the ports back and ends the daemon. A daemon that is gone is no error."""
        if self.process is None:
            return
        if self.process.poll() is None:
            try:
                self.run_ctl("detach", "--all")
            finally:
                processes.stop(self.process)

    def _error(self, message):
        log = processes.tail(self.log)
        return DaemonError(f"{message}\n--- end of {self.log.name} ---\n{log or '(empty)'}")
