# SPDX-License-Identifier: Apache-2.0
"""Network namespaces, veths and bridges of a run. Names are `ll-<run>-<node>`; `ip -batch` does the work."""

import ctypes
import json
import os
import secrets
import socket
import struct
import subprocess
import threading
from pathlib import Path

from .waiting import wait_for

NETNS_DIR = Path("/run/netns")
PREFIX = "ll-"
BRIDGE = "br0"
_CLONE_NEWNET = 0x40000000
_SO_ATTACH_FILTER = 26
_libc = ctypes.CDLL(None, use_errno=True)

# IPv6 would add router solicitations and duplicate address detection to the counters;
# bridge-nf-call-* costs half a microsecond a packet and is on in every new namespace.
_SYSCTLS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/bridge/bridge-nf-call-iptables": "0",
    "net/bridge/bridge-nf-call-ip6tables": "0",
    "net/bridge/bridge-nf-call-arptables": "0",
}


class NamespaceError(RuntimeError):
    """An `ip` or `bridge` command failed; the message has the command's own words."""


def new_run_id():
    """Random part of all names of a run: 6 hex digits."""
    return secrets.token_hex(3)


def ns_name(run_id, node):
    return f"{PREFIX}{run_id}-{node}"


def exists(name):
    return (NETNS_DIR / name).exists()


def run_tool(*command, stdin=None):
    """Runs a tool to its end and returns its output; its error text becomes ours."""
    done = subprocess.run(command, input=stdin, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise NamespaceError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def ip_batch(lines, netns=None, tool="ip"):
    """Runs `ip` (or `bridge`) lines in one process, inside `netns` when given."""
    if lines:
        where = ["-n", netns] if netns else []
        run_tool(tool, *where, "-batch", "-", stdin="\n".join(lines) + "\n")


def in_namespace(name, function):
    """Calls `function` with the network namespace `name` and returns its result.

    A thread of its own enters the namespace and ends there, so the caller's is never changed."""
    result = []

    def body():
        try:
            fd = os.open(NETNS_DIR / name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _libc.setns(fd, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns {name}")
            finally:
                os.close(fd)
            result.append((function(), None))
        except BaseException as e:  # handed over to the caller's thread
            result.append((None, e))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    value, error = result[0]
    if error is not None:
        raise error
    return value


def _quieten():
    for key, value in _SYSCTLS.items():
        path = Path("/proc/sys") / key
        if path.exists():  # absent when the kernel lacks IPv6 or br_netfilter
            path.write_text(value)


def create(names):
    """Makes empty namespaces with IPv6 and bridge netfilter off and `lo` up."""
    ip_batch([f"netns add {n}" for n in names])
    for name in names:
        in_namespace(name, _quieten)
        ip_batch(["link set lo up"], netns=name)


def delete(names):
    """Removes the namespaces that exist; what is in them goes with them."""
    ip_batch([f"netns del {n}" for n in names if exists(n)])


def add_veth(a, b, mtu=1500):
    """A veth pair, both ends up. `a` and `b`: (namespace, interface, MAC address or "")."""
    (ns_a, if_a, _), (ns_b, if_b, _) = a, b
    ip_batch([_veth_line(a, b, mtu)])
    for ns, dev in ((ns_a, if_a), (ns_b, if_b)):
        ip_batch([f"link set dev {dev} up"], netns=ns)


def _veth_line(a, b, mtu):
    def end(ns, name, mac):
        return f"{name} netns {ns} mtu {mtu}" + (f" address {mac}" if mac else "")

    return f"link add name {end(*a)} type veth peer name {end(*b)}"


def add_bridge(netns, ports, name=BRIDGE, flood=True):
    """A bridge over existing interfaces. Without `flood`, it forwards by static entries alone."""
    ip_batch([f"link add name {name} type bridge stp_state 0 mcast_snooping 0 forward_delay 0",
              *[f"link set dev {p} master {name}" for p in ports],
              *[f"link set dev {p} up" for p in ports],
              f"link set dev {name} up"], netns=netns)
    if not flood:
        off = "learning off flood off mcast_flood off bcast_flood off"
        ip_batch([f"link set dev {p} {off}" for p in ports], netns=netns, tool="bridge")


def wait_forwarding(netns, limit_s=10.0):
    """Waits until all bridge ports of a namespace forward: the kernel brings carriers up some time later,
    and until then the bridge drops without counting."""
    def ready():
        ports = json.loads(run_tool("bridge", "-n", netns, "-j", "link"))
        return all(p.get("state") == "forwarding" for p in ports)

    wait_for(ready, limit_s, f"bridge ports of {netns} forwarding")


def add_fdb(netns, entries):
    """Static forwarding entries: (MAC address, port)."""
    ip_batch([f"fdb replace {mac} dev {port} master static" for mac, port in entries],
             netns=netns, tool="bridge")


_ETH_MAC_CONTROL = 0x8808
_NOTHING = struct.pack("HBBI", 6, 0, 0, 0)  # a socket filter's only instruction: return 0


def open_mac_control_sink(netns):
    """A socket that takes MAC control frames in a namespace and throws them away. Without one the kernel counts
    them as dropped at the interface when nobody listens any more."""
    def body():
        sink = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_MAC_CONTROL))
        program = ctypes.create_string_buffer(_NOTHING)
        sink.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(program)))
        return sink

    return in_namespace(netns, body)


VXLAN = "vxlan0"


def add_vtep(netns, end, peer):
    """The end of a tunnel (topology.Vxlan): address, neighbour and VXLAN device; the bridge comes later."""
    ip_batch([f"link set dev {end.towards} address {end.mac} up",
              f"address add {end.ip}/24 dev {end.towards}",
              f"neigh replace {peer.ip} lladdr {peer.mac} nud permanent dev {end.towards}",
              f"link add {VXLAN} type vxlan id 1 local {end.ip} remote {peer.ip} dev {end.towards} dstport 4789 nolearning",
              f"link set dev {VXLAN} up"], netns=netns)


def _bridge_ports(topology, switch):
    """Bridge ports of a switch, and MAC address of each host -> the port towards it."""
    ports = [link.end_at(switch.name).name for link in topology.links_of(switch.name)]
    hops = {h.mac: topology.next_hops(h.name).get(switch.name) for h in topology.hosts}
    if switch.vxlan:
        ports = [VXLAN if p == switch.vxlan.towards else p for p in ports]
        hops = {mac: VXLAN if p == switch.vxlan.towards else p for mac, p in hops.items()}
    return ports, {mac: p for mac, p in hops.items() if p}


def _vtep_entries(topology, switch):
    """Where a switch of the underlay finds the tunnels' ends."""
    return [(s.vxlan.mac, link.end_at(switch.name).name) for s in topology.switches if s.vxlan
            for link in topology.links_of(switch.name) if s.name in {e.node for e in link.ends}]


def build(topology, run_id):
    """Builds all namespaces, links and bridges of a topology. Returns node -> namespace name."""
    names = {node: ns_name(run_id, node) for node in topology.nodes}
    create(list(names.values()))
    ip_batch([_veth_line(*[(names[e.node], e.name, e.mac) for e in link.ends], link.mtu)
              for link in topology.links])
    for host in topology.hosts:
        ip_batch([f"link set dev {link.end_at(host.name).name} up" for link in topology.links_of(host.name)],
                 netns=names[host.name])
    ends = {s.name: s.vxlan for s in topology.switches if s.vxlan}
    for switch in topology.switches:
        if switch.vxlan:
            add_vtep(names[switch.name], switch.vxlan, ends[switch.vxlan.peer])
        ports, hops = _bridge_ports(topology, switch)
        add_bridge(names[switch.name], ports, flood=switch.flood)
        add_fdb(names[switch.name], list(hops.items()))
        if not switch.vxlan:
            add_fdb(names[switch.name], _vtep_entries(topology, switch))
    for switch in topology.switches:
        wait_forwarding(names[switch.name])
    return names
