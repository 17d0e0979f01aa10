# SPDX-License-Identifier: Apache-2.0
"""Topology files: hosts, switches, links, traffic and variants as data. Pure: no namespace is touched here.

docs/labs.md describes the file. In short: `[variant.NAME]` is laid over the rest of the file, parameters
come from the command line, computed values are worked out, and groups (`count`) are multiplied out.
"""

import copy
import tomllib
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from .expressions import ExpressionError, resolve
from .tools import ROOT

MAX_IFNAME = 15
_TOP_KEYS = {"title", "parameters", "host", "switch", "switch_defaults", "link", "link_defaults", "traffic",
             "traffic_defaults", "dcqcn", "endpoint", "sample", "variant", "duration_s", "failure", "kind"}


class TopologyError(ValueError):
    """A topology file, parameter or variant that cannot be used; the message names what is allowed."""


@dataclass
class Interface:
    """One end of a link."""
    node: str
    name: str
    mac: str = ""


@dataclass
class Link:
    ends: tuple[Interface, Interface]
    rate_mbit: float
    mtu: int
    name: str = ""  # NAME of its [link.NAME]

    def end_at(self, node):
        return next(e for e in self.ends if e.node == node)

    def end_beyond(self, node):
        return next(e for e in self.ends if e.node != node)


@dataclass
class Host:
    name: str
    index: int  # from 1; the last bits of its address
    group: str
    file: dict = field(default_factory=dict)  # the configuration of losslessd that runs there too; none: {}

    @property
    def ip(self):
        return f"10.11.{self.index // 250}.{self.index % 250 + 1}"

    @property
    def mac(self):
        """02:00 and the IPv4 address: no ARP needed, and readable in a capture."""
        return "02:00:" + ":".join(f"{int(b):02x}" for b in self.ip.split("."))


@dataclass
class Vxlan:
    """A switch at the end of a tunnel: its port towards the underlay is no bridge port but has an address."""
    towards: str  # node of the underlay
    peer: str     # switch at the other end
    number: int   # among the switches, from 1; the last byte of its addresses

    @property
    def ip(self):
        return f"192.0.2.{self.number}"

    @property
    def mac(self):
        return f"02:01:00:00:00:{self.number:02x}"


@dataclass
class Switch:
    name: str
    queues: dict = field(default_factory=dict)  # "0".."7" -> the [queue.N] table of losslessd
    port: dict = field(default_factory=dict)    # keys of every [[port]], e.g. trust
    groups: dict = field(default_factory=dict)  # port groups: name -> ports
    hook_flows: list = field(default_factory=list)  # the [[hook_flow]] tables of losslessd
    flood: bool = False                         # learn and flood as bridges do; else static entries only
    managed: bool = True                        # losslessd runs here
    tables: dict = field(default_factory=dict)  # further top-level tables of losslessd
    vxlan: Vxlan | None = None
    file: dict = field(default_factory=dict)    # a configuration of losslessd as it is, instead of the tables above


@dataclass
class Failure:
    """A link that fails and comes back, again and again; seconds since the traffic began."""
    link: str
    first_s: float
    down_s: float
    every_s: float
    times: int


@dataclass
class SamplePoint:
    """A queue to be watched: switch, port, TC. Text form: sw:port:tc."""
    switch: str
    port: str
    tc: int


@dataclass
class Topology:
    lab: str
    title: str
    variant: str
    parameters: dict
    duration_s: float
    hosts: list[Host]
    switches: list[Switch]
    links: list[Link]
    flows: list[dict]  # as the endpoint wants them: from, to, qps, size, ...
    dcqcn: dict
    endpoint: dict     # further top-level keys for the endpoint
    samples: list[SamplePoint]
    failure: Failure | None = None

    @property
    def nodes(self):
        return [n.name for n in (*self.hosts, *self.switches)]

    def links_of(self, node):
        return [link for link in self.links if node in (link.ends[0].node, link.ends[1].node)]

    def is_lossless(self, tc):
        """A TC counts as lossless when any switch says so."""
        return any(s.queues.get(str(tc), {}).get("lossless", False) for s in self.switches)

    def tc_of_dscp(self, dscp):
        """TC of a DSCP by the switches' maps: the first switch's, with the defaults of losslessd."""
        port = self.switches[0].port if self.switches else {}
        dot1p = port.get("dscp_dot1p", {}).get(str(dscp), dscp >> 3)
        tcs = port.get("dot1p_tc", list(range(8)))
        return tcs[dot1p]

    def next_hops(self, host, without=""):
        """switch -> interface towards `host`, on shortest paths (a tree, so no loop even in a ring) that do
        without the link of that name. Of two ways of one length: that whose links are written in its direction."""
        hops, todo, seen = {}, deque([host]), {host}
        while todo:
            node = todo.popleft()
            for link in sorted(self.links_of(node), key=lambda link, to=node: link.ends[1].node != to):
                if link.name == without:
                    continue
                far = link.end_beyond(node)
                if far.node in seen or far.node not in {s.name for s in self.switches}:
                    continue
                hops[far.node] = far.name
                seen.add(far.node)
                todo.append(far.node)
        return hops


def merge(base, over):
    """`over` laid over `base`: tables are merged key by key, everything else is replaced."""
    out = copy.deepcopy(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merge(out[key], value) if both else copy.deepcopy(value)
    return out


def read_file(path):
    """The raw TOML of a topology file."""
    try:
        document = tomllib.loads(Path(path).read_text())
    except OSError as e:
        raise TopologyError(f"{path}: {e.strerror}") from e
    except tomllib.TOMLDecodeError as e:
        raise TopologyError(f"{path}: {e}") from e
    unknown = sorted(set(document) - _TOP_KEYS)
    if unknown:
        raise TopologyError(f"{path}: unknown key '{unknown[0]}'; known are {', '.join(sorted(_TOP_KEYS))}")
    return document


def variants_of(document):
    return list(document.get("variant", {}))


def parameters_of(document, given):
    declared = document.get("parameters", {})
    for name in given:
        if name not in declared:
            raise TopologyError(f"this lab has no parameter '{name}'; it has {', '.join(declared) or 'none'}")
    values = {}
    for name, spec in declared.items():
        value = given.get(name, spec["default"])
        low, high = spec.get("min", value), spec.get("max", value)
        if not low <= value <= high:
            raise TopologyError(f"{name} = {value}: allowed is {low} to {high}")
        values[name] = value
    return values


def _hosts(document):
    hosts, groups = [], {}
    for group, spec in document.get("host", {}).items():
        count = spec.get("count")
        names = [group] if count is None else [f"{group}{i}" for i in range(1, count + 1)]
        groups[group] = names
        file = _configuration(spec["file"]) if "file" in spec else {}
        for name in names:
            hosts.append(Host(name, len(hosts) + 1, group, file))
    return hosts, groups


def _configuration(path):
    """A configuration of losslessd that a topology names, from the top of the source tree."""
    try:
        return tomllib.loads((ROOT / path).read_text())
    except OSError as e:
        raise TopologyError(f"{path}: {e.strerror}") from e
    except tomllib.TOMLDecodeError as e:
        raise TopologyError(f"{path}: {e}") from e


def _vxlan(name, spec, number):
    if spec is None:
        return None
    if set(spec) != {"towards", "peer"}:
        raise TopologyError(f"switch.{name}.vxlan: it has towards and peer")
    return Vxlan(spec["towards"], spec["peer"], number)


def _check_vxlan(switches, links):
    ends = {s.name: s.vxlan for s in switches if s.vxlan}
    for name, end in ends.items():
        if end.peer not in ends or ends[end.peer].peer != name:
            raise TopologyError(f"switch.{name}.vxlan.peer: '{end.peer}' has no tunnel to {name}")
        if not any({e.node for e in link.ends} == {name, end.towards} for link in links):
            raise TopologyError(f"switch.{name}.vxlan.towards: no link to '{end.towards}'")


def _switches(document, groups):
    defaults, switches = document.get("switch_defaults", {}), []
    for name, spec in document.get("switch", {}).items():
        spec = merge(defaults, spec)
        file = _configuration(spec["file"]) if "file" in spec else {}
        switches.append(Switch(name, file.get("queue", spec.get("queue", {})), spec.get("port", {"trust": "dscp"}),
                               spec.get("port_group", {}), spec.get("hook_flow", []),
                               spec.get("flood", False), spec.get("managed", True), spec.get("tables", {}),
                               _vxlan(name, spec.get("vxlan"), len(switches) + 1), file))
        groups[name] = [name]
    return switches


def _members(groups, name, where):
    if name not in groups:
        raise TopologyError(f"{where}: no host or switch '{name}'; there are {', '.join(groups)}")
    return groups[name]


def _pairs(groups, ends, where):
    """The node pairs of one [link]: a group against one node, or two groups of one size side by side."""
    a, b = (_members(groups, e, where) for e in ends)
    if len(a) == 1:
        a = a * len(b)
    if len(b) == 1:
        b = b * len(a)
    if len(a) != len(b):
        raise TopologyError(f"{where}: {ends[0]} has {len(a)} members, {ends[1]} has {len(b)}")
    return list(zip(a, b))


class _InterfaceNames:
    """A host's interfaces are eth0, eth1, …; a switch's port is named for the node at the other end."""

    def __init__(self, hosts):
        self._hosts = {h.name: h for h in hosts}
        self._used = {}

    def take(self, node, far):
        used = self._used.setdefault(node, set())
        if node in self._hosts:
            name = f"eth{len(used)}"
        else:
            name = far if far not in used else f"{far}-{sum(u.split('-')[0] == far for u in used) + 1}"
        if len(name) > MAX_IFNAME:
            raise TopologyError(f"interface name '{name}' has more than {MAX_IFNAME} characters")
        used.add(name)
        host = self._hosts.get(node)
        return Interface(node, name, host.mac if host and name == "eth0" else "")


def _links(document, hosts, groups):
    names, links = _InterfaceNames(hosts), []
    for key, spec in document.get("link", {}).items():
        spec = merge(document.get("link_defaults", {}), spec)
        where = f"link.{key}"
        if len(spec.get("ends", [])) != 2:
            raise TopologyError(f"{where}.ends: must name two nodes or groups")
        for a, b in _pairs(groups, spec["ends"], where):
            ends = (names.take(a, b), names.take(b, a))
            links.append(Link(ends, spec.get("rate", 0), spec.get("mtu", 1500), key))
    return links


def _fill_groups(switches, links):
    """A port group "switches" is every port that leads to another switch."""
    names = {s.name for s in switches}
    for switch in switches:
        towards = [link.end_at(switch.name).name for link in links
                   if {e.node for e in link.ends} <= names and switch.name in {e.node for e in link.ends}]
        switch.groups = {k: towards if v == "switches" else v for k, v in switch.groups.items()}


def _failure(document, links):
    spec = document.get("failure")
    if spec is None:
        return None
    try:
        failure = Failure(**spec)
    except TypeError as e:
        raise TopologyError(f"failure: {e}; it has link, first_s, down_s, every_s, times") from e
    if failure.link not in {link.name for link in links}:
        raise TopologyError(f"failure.link: no link '{failure.link}'")
    if not 0 < failure.down_s < failure.every_s:
        raise TopologyError(f"failure: down_s = {failure.down_s:g} must be above 0 and below every_s = "
                            f"{failure.every_s:g}")
    return failure


def _flows(document, groups):
    """One flow per (from, to) pair; two groups make every pair of different hosts."""
    flows = []
    for key, spec in document.get("traffic", {}).items():
        spec = merge(document.get("traffic_defaults", {}), spec)
        sources = _members(groups, spec.pop("from"), f"traffic.{key}.from")
        sinks = _members(groups, spec.pop("to"), f"traffic.{key}.to")
        flows += [{"from": a, "to": b, **spec} for a in sources for b in sinks if a != b]
    return flows


def _samples(document, topology):
    ports = {(e.node, e.name) for link in topology.links for e in link.ends}
    samples = []
    for text in document.get("sample", []):
        switch, port, tc = text.split(":")
        if (switch, port) not in ports:
            raise TopologyError(f"sample '{text}': no port {port} at {switch}")
        samples.append(SamplePoint(switch, port, int(tc)))
    return samples


def load(path, variant, given=None, duration_s=None):
    """The topology of one variant. `given`: parameters by name (numbers)."""
    document = read_file(path)
    overrides = document.pop("variant", {})
    if variant not in overrides:
        raise TopologyError(f"no variant '{variant}'; {Path(path).stem} has {', '.join(overrides) or 'none'}")
    parameters = parameters_of(document, given or {})
    document.pop("parameters", None)
    try:
        document = resolve(merge(document, overrides[variant]), parameters)
    except ExpressionError as e:
        raise TopologyError(f"{path}: {e}") from e
    hosts, groups = _hosts(document)
    switches = _switches(document, groups)
    links = _links(document, hosts, groups)
    _fill_groups(switches, links)
    _check_vxlan(switches, links)
    topology = Topology(
        lab=Path(path).stem, title=document.get("title", ""), variant=variant, parameters=parameters,
        duration_s=duration_s if duration_s is not None else document.get("duration_s", 10),
        hosts=hosts, switches=switches, links=links, failure=_failure(document, links),
        flows=_flows(document, groups), dcqcn=document.get("dcqcn", {}),
        endpoint=document.get("endpoint", {}), samples=[])
    topology.samples = _samples(document, topology)
    return topology
