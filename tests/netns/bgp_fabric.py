# SPDX-License-Identifier: Apache-2.0
"""Switches of ours that speak BGP with one another, with iNOF hosts behind them."""

from vethlab import inof_frames as frames
from vethlab.inof_hosts import Crowd, InofHost

ASN = 65001


class Fabric:
    """Switches around a hub; each has a router address, and hosts at some. Reflectors are told by `links`."""

    def __init__(self, sandbox, names, hosts=(), inof=True):
        self.sandbox, self.names = sandbox, names
        self.ns = {n: sandbox.netns(n) for n in names}
        self.hub = sandbox.netns("hub")
        self.neighbors = {n: {} for n in names}
        self.daemons, self.hosts = {}, {}
        self.inof = inof
        for n in names:
            sandbox.veth((self.ns[n], "up", ""), (self.hub, f"to{n}", ""))
            sandbox.run(self.ns[n], "ip", "addr", "add", f"{self.ip(n)}/24", "dev", "up")
        sandbox.bridge(self.hub, [f"to{n}" for n in names])
        for i, (host, switch) in enumerate(hosts, 1):
            netns = sandbox.netns(host)
            sandbox.veth((netns, "eth0", f"02:00:0a:4d:00:{i:02x}"), (self.ns[switch], host, ""))
            self.hosts[host] = (switch, InofHost(host, netns, "eth0", f"02:00:0a:4d:00:{i:02x}", f"10.77.0.{i}",
                                                 frames.DIALECTS["odcc"], frames.SERVER))
        self.crowd = Crowd([h for _, h in self.hosts.values()]) if hosts else None

    def ip(self, name):
        return f"10.99.0.{self.names.index(name) + 1}"

    def connect(self, a, b, a_sees=None, b_sees=None):
        """`a_sees`: what a's configuration has of b."""
        self.neighbors[a][b] = a_sees or {}
        self.neighbors[b][a] = b_sees or {}

    def tables(self, name, bgp=None, inof=None, **more):
        tables = {"bgp": {"on": True, "asn": ASN, "router_id": self.ip(name), "hold_s": 9, "connect_retry_s": 1, **(bgp or {})},
                  "bgp_neighbor": [{"address": self.ip(n), **keys} for n, keys in self.neighbors[name].items()], **more}
        if self.inof:
            tables |= {"lldp": {"enabled": True}, "inof": {"on": True, "keep_changes": False, "age": 60, **(inof or {})}}
        return tables

    def ports(self, name):
        return [h for h, (switch, _) in self.hosts.items() if switch == name] or ["up"]

    def start(self, name, **more):
        self.daemons[name] = self.sandbox.daemon(self.ns[name], self.ports(name), name=name, tables=self.tables(name, **more))
        return self.daemons[name]

    def ctl(self, name, *words):
        return self.daemons[name].ctl(*words)

    def neighbor(self, name, other):
        return self.ctl(name, "show", "bgp", "neighbors", self.ip(other))["neighbors"][0]

    def up(self, name, other):
        return self.neighbor(name, other)["state"] == "Established"

    def host_state(self, name, host):
        found = self.ctl(name, "show", "inof", "host")["hosts"]
        return next((f"{h['state']} {h['reason']}" for h in found if h["address"] == self.hosts[host][1].address), "unknown")

    def told(self, host, count, limit_s=10.0):
        def have():
            return [t for t in self.crowd.told if t.host == host]
        self.crowd.pump(limit_s, lambda: len(have()) >= count)
        got = have()
        self.crowd.told = [t for t in self.crowd.told if t.host != host]
        return [(t.message.subject, "online" if t.message.online else "offline", frames.REASONS[t.message.reason]) for t in got]


def join(f, wait_for, *hosts):
    for host in hosts:
        f.hosts[host][1].announce()
        wait_for(lambda h=host: f.host_state(f.hosts[h][0], h).startswith("online"), what=f"{host} online")
