# SPDX-License-Identifier: Apache-2.0
"""Our iNOF switch and our host agents on one wire, in both dialects and both IP versions."""

import pytest

ADDRESSES = {4: "10.78.0.{}", 6: "fd00:78::{}"}
PREFIX = {4: 24, 6: 64}


class Pair:
    """Two hosts with agents at one switch."""

    def __init__(self, star, sandbox, wait_for, dialect, family):
        self.star, self.sandbox, self.wait_for, self.family = star(2), sandbox, wait_for, family
        self.switch = self.star.daemon(tables={"lldp": {"enabled": True}, "inof": {"on": True, "keep_changes": False}})
        self.agents = {}
        for host, role in (("h1", "server"), ("h2", "client")):
            sandbox.run(self.star.ns[host], "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
            sandbox.run(self.star.ns[host], "ip", "addr", "add", f"{self.address(host)}/{PREFIX[family]}", "dev", "eth0",
                        *(["nodad"] if family == 6 else []))
            settings = {"dialect": dialect, "role": role, "hook": "none"}
            self.agents[host] = sandbox.daemon(self.star.ns[host], ["eth0"], name=host,
                                               tables={"": {"role": "host"}, "inof_host": settings})

    def address(self, host):
        return ADDRESSES[self.family].format(self.star.hosts.index(host) + 1)

    def members(self, host):
        return {m["address"]: m["state"] for m in self.agents[host].ctl("show", "inof-host")["members"]}

    def sees(self, host, other, state):
        self.wait_for(lambda: self.members(host).get(self.address(other)) == state, limit_s=20,
                      what=f"{other} {state} at {host}; it has {self.members(host)}")


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("dialect", ["odcc", "china-mobile"])
def test_switch_and_agents_agree(star, sandbox, wait_for, dialect, family):
    pair = Pair(star, sandbox, wait_for, dialect, family)
    pair.sees("h1", "h2", "online")
    pair.sees("h2", "h1", "online")
    sandbox.run(pair.star.switch, "ip", "link", "set", "h2", "down")
    pair.sees("h1", "h2", "offline")
    sandbox.run(pair.star.switch, "ip", "link", "set", "h2", "up")
    pair.sees("h1", "h2", "online")
    wait_for(lambda: pair.switch.ctl("show", "inof", "status")["under_way"] == 0, what="every notification acknowledged")
    hosts = pair.switch.ctl("show", "inof", "host")["hosts"]
    ours = {h["address"]: h["dialect"] for h in hosts if h["address"] in (pair.address("h1"), pair.address("h2"))}
    assert ours == {pair.address("h1"): dialect, pair.address("h2"): dialect}
    counted = pair.switch.ctl("show", "inof", "statistics")
    assert sum(int(h["expired"]) for h in counted["hosts"]) == 0, counted
