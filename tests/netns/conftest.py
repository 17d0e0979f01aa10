# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests on real network namespaces. Run as root:

    /usr/bin/python3 -m pytest tests/netns [--build DIR]

--build: the build folder with losslessd and the others (default: $LL_BUILD, then build/).

  tools       vethlab.tools.Tools: tools.path("losslessd"), "losslessctl", "endpoint", "lab-sampler".
  sandbox     Sandbox: namespaces, links, daemons and processes of one test. Everything made through it has
              random names and is removed after the test, whatever its end.
  star        star(hosts=2, mtu=1500, flood=True, name="") -> Star (a second one in a test takes a name):
              hosts h1 … hN (interface eth0, MAC star.mac("h1"),
              address star.ip("h1"), not configured) on a bridge in the namespace star.switch; the switch's
              ports are called h1 … hN.
  wire        wire(netns, dev) -> wire.Wire: send and receive raw frames, scapy packets in and out.
  fabric      fabric(names, hosts=()) -> bgp_fabric.Fabric: switches of ours that speak BGP, with iNOF hosts.
  bgp_lab     bgp_lab() -> bgp_lab.BgpLab: a daemon of ours with other BGP speakers.
  departures  departures.nothing_set_right(daemon): the buffer model counted right (daemon started with LOG_DEBUG).
  wait_for    wait_for(condition, limit_s=10, what="…"): polls; WaitTimeout (a failure) at the limit.

A daemon in a star, and its CLI:

    def test_ports(star):
        s = star(2)
        d = s.daemon(queues={"3": {"limit": "1MB"}})    # starts losslessd, waits until all ports are attached
        assert d.ctl("show", "ports")["ports"][0]["name"] == "h1"     # --json, parsed
        done = d.run_ctl("show", "ports", "eth9")                     # .returncode .stdout .stderr

d.process is the Popen, d.log the log file, d.config the TOML file (d.configure(queues, ports) or write it
yourself), d.start() starts it again after it ended, d.wait_ready() polls for attached ports. Also:
sandbox.netns("a"), sandbox.veth((ns, "x", ""), (ns2, "y", "")), sandbox.bridge(ns, ["x"]),
sandbox.spawn(command, netns=ns), sandbox.run(ns, "tc", "qdisc", …), sandbox.path / "file".
Helpers without a fixture: vethlab.namespaces.in_namespace(ns, function), run_tool(command…).
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "veth-topo"))

from bgp_fabric import Fabric  # noqa: E402
from bgp_lab import BgpLab  # noqa: E402
from departures import Departures  # noqa: E402
from vethlab import interrupts, namespaces, processes, rundir, tools as vethlab_tools  # noqa: E402
from vethlab.switchd import SwitchDaemon  # noqa: E402
from vethlab.waiting import wait_for as poll  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--build", help="build folder (default: $LL_BUILD, then build/)")


def pytest_configure(config):
    interrupts.install()  # SIGTERM, too, ends the tests through their clean-up
    rundir.clean()        # what an earlier run left that was killed outright


class Sandbox:
    """What one test makes in the kernel, on record from the start."""

    def __init__(self, tools):
        self.tools = tools
        self.rundir = rundir.RunDir().create()
        self._daemons = []

    @property
    def path(self):
        """A folder for the test's files."""
        return self.rundir.path

    def netns(self, node):
        """A new namespace; returns its full, random name."""
        name = namespaces.ns_name(self.rundir.run_id, node)
        self.rundir.add_namespaces([name])
        namespaces.create([name])
        return name

    def veth(self, a, b, mtu=1500):
        """A veth pair, up. Each end: (namespace, interface name, MAC address or "")."""
        namespaces.add_veth(a, b, mtu)

    def bridge(self, netns, ports, flood=True):
        """The bridge br0 over interfaces of `netns`; returns when all ports forward."""
        namespaces.add_bridge(netns, ports, flood=flood)
        namespaces.wait_forwarding(netns)

    def daemon(self, netns, ports, queues=None, name="sw", start=True, groups=None, hook_flows=(), tables=None):
        """losslessd in `netns`. `ports`: names, or tables with the keys of [[port]]. `groups`: port group -> ports;
        `hook_flows`: tables with the keys of [[hook_flow]]. `tables`: further top-level tables, e.g.
        {"lldp": {"enabled": True}, "bgp_neighbor": [{…}, {…}], "": {"role": "host"}}."""
        daemon = SwitchDaemon(self.tools, self.rundir, name, netns)
        daemon.configure(queues or {}, [p if isinstance(p, dict) else {"name": p} for p in ports],
                         groups, hook_flows, tables)
        self._daemons.append(daemon)
        if start:
            daemon.start()
            daemon.wait_ready()
        return daemon

    def spawn(self, command, netns=None, log="process.log"):
        """A process that ends with the test; its output goes to the file `log` in `path`."""
        return self.rundir.spawn(command, log, netns)

    def run(self, netns, *command):
        """Runs a command in a namespace to its end; returns its output, NamespaceError on failure."""
        return namespaces.run_tool("nsenter", f"--net=/run/netns/{netns}", *command)

    def close(self):
        with interrupts.held():
            try:
                for daemon in self._daemons:
                    daemon.detach_and_stop()
            finally:
                self.rundir.remove()


class Star:
    """Hosts around one switch."""

    def __init__(self, sandbox, hosts, mtu, flood, name):
        self._sandbox = sandbox
        self.hosts = [f"h{i}" for i in range(1, hosts + 1)]
        self.switch = sandbox.netns(f"{name}sw")
        self.ns = {h: sandbox.netns(f"{name}{h}") for h in self.hosts}
        for host in self.hosts:
            sandbox.veth((self.ns[host], "eth0", self.mac(host)), (self.switch, host, ""), mtu)
        sandbox.bridge(self.switch, self.hosts, flood)
        namespaces.add_fdb(self.switch, [(self.mac(h), h) for h in self.hosts])

    def ip(self, host):
        return f"10.11.0.{self.hosts.index(host) + 1}"

    def mac(self, host):
        return f"02:00:0a:0b:00:{self.hosts.index(host) + 1:02x}"

    def daemon(self, queues=None, port=None, **more):
        """losslessd over all ports of the switch; `port`: keys for every port, e.g. {"rate": "100mbit"}."""
        ports = [{"name": h, **(port or {})} for h in self.hosts]
        return self._sandbox.daemon(self.switch, ports, queues, **more)


@pytest.fixture(scope="session")
def tools(request):
    return vethlab_tools.Tools(request.config.getoption("--build"))


@pytest.fixture
def sandbox(tools):
    box = Sandbox(tools)
    try:
        yield box
    finally:
        box.close()


@pytest.fixture
def star(sandbox):
    return lambda hosts=2, mtu=1500, flood=True, name="": Star(sandbox, hosts, mtu, flood, name)


@pytest.fixture
def wire(request):
    from wire import Wire  # late: scapy takes a second to load

    def make(netns, dev):
        w = Wire(netns, dev)
        request.addfinalizer(w.close)
        return w
    return make


@pytest.fixture
def departures(sandbox):
    trace = Departures(sandbox, poll)
    try:
        yield trace
    finally:
        trace.stop()


@pytest.fixture
def fabric(sandbox, request):
    def make(*args, **more):
        made = Fabric(sandbox, *args, **more)
        if made.crowd:
            request.addfinalizer(made.crowd.close)
        return made
    return make


@pytest.fixture
def bgp_lab(sandbox, wait_for):
    return lambda **bgp: BgpLab(sandbox, wait_for, **bgp)


@pytest.fixture
def wait_for():
    return poll


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the end of the logs in its sandbox."""
    report = (yield).get_result()
    box = getattr(item, "funcargs", {}).get("sandbox")
    if report.when == "call" and report.failed and box is not None:
        for log in sorted(box.path.glob("*.log")):
            report.sections.append((f"end of {log.name}", processes.tail(log, 40)))
