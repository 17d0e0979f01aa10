# SPDX-License-Identifier: Apache-2.0
"""A daemon of ours with neighbours that are other BGP speakers."""

from bgp_peers import ASN, OTHERS

ROUTER, OTHER, WATCHER = "10.99.0.1", "10.99.0.2", "10.99.0.3"
PREFIX = "192.0.2.0/24"


class BgpLab:
    """Our daemon with two foreign neighbours' namespaces, all on one wire."""

    def __init__(self, sandbox, wait_for, **bgp):
        self.sandbox, self.wait_for, self.bgp = sandbox, wait_for, bgp
        self.ns = {a: sandbox.netns(f"p{i}") for i, a in enumerate((ROUTER, OTHER, WATCHER))}
        hub = sandbox.netns("hub")
        for i, (address, netns) in enumerate(self.ns.items()):
            sandbox.veth((netns, "up", ""), (hub, f"p{i}", ""))
            sandbox.run(netns, "ip", "addr", "add", f"{address}/24", "dev", "up")
        sandbox.bridge(hub, ["p0", "p1", "p2"])
        self.daemon = None

    def start(self, *neighbors):
        tables = {"bgp": {"on": True, "asn": ASN, "router_id": ROUTER, "hold_s": 9, "connect_retry_s": 1, **self.bgp},
                  "bgp_neighbor": [{"ipv4_unicast": True, "client": True, **n} for n in neighbors]}
        self.daemon = self.sandbox.daemon(self.ns[ROUTER], ["up"], tables=tables)

    def peer(self, kind, address=OTHER, **more):
        made = OTHERS[kind](self.sandbox, self.ns[address], address=address, router=ROUTER, **more)
        made.start()
        return made

    def neighbor(self, address=OTHER):
        return self.daemon.ctl("show", "bgp", "neighbors", address)["neighbors"][0]

    def up(self, address=OTHER):
        return self.neighbor(address)["state"] == "Established"

    def wait_up(self, address=OTHER, limit_s=30):
        self.wait_for(lambda: self.up(address), limit_s=limit_s, what=f"{address} established; it is {self.neighbor(address)}")

    def routes(self):
        return {r["route"] for r in self.daemon.ctl("show", "bgp", "ipv4", "routes")["routes"]}
