# SPDX-License-Identifier: Apache-2.0
"""The application priority table: ports that trust it, for forwarded and for local packets."""

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from test_dcbx import dcbx
from test_ports import queues


def test_packets_get_the_priority_of_their_protocol(star, wire, wait_for):
    s = star(2)
    d = s.daemon(port={"trust": "application", "priority": 1})
    sender = wire(s.ns["h1"], "eth0")
    ip = Ether(src=s.mac("h1"), dst=s.mac("h2")) / IP(src=s.ip("h1"), dst=s.ip("h2"), tos=48 << 2)
    sender.send(*[ip / UDP(sport=49152, dport=4791) / bytes(64)] * 10, *[ip / UDP(dport=4790) / bytes(64)] * 5,
                *[ip / TCP(dport=4791) / bytes(64)] * 3)
    wait_for(lambda: queues(d, "h2")[3]["sent_packets"] == "10", what="RoCEv2 in TC 3")
    assert queues(d, "h1")[3]["rx_packets"] == "10" and queues(d, "h1")[1]["rx_packets"] == "8"
    shown = d.ctl("show", "application")
    assert shown["entries"] == [{"field": "udp", "protocol": 4791, "priority": 3}]
    assert all(port["used"] and port["tc"] == [3] for port in shown["ports"])

    d.configure({}, [{"name": h, "trust": "application"} for h in s.hosts], tables={"": {"application": []}})
    d.ctl("reload")
    sender.send(*[ip / UDP(sport=49152, dport=4791) / bytes(64)] * 4)
    wait_for(lambda: queues(d, "h1")[0]["rx_packets"] == "4", what="no entry, no priority")
    assert d.ctl("show", "application")["entries"] == []


def test_local_packets(sandbox, wait_for):
    host, peer = sandbox.netns("host"), sandbox.netns("peer")
    sandbox.veth((host, "eth0", ""), (peer, "eth0", "02:00:00:00:00:02"))
    sandbox.run(host, "ip", "address", "add", "10.5.0.1/24", "dev", "eth0")
    sandbox.run(host, "ip", "neigh", "add", "10.5.0.2", "lladdr", "02:00:00:00:00:02", "dev", "eth0")
    d = sandbox.daemon(host, [{"name": "eth0", "trust": "application"}])
    for _ in range(3):
        sandbox.run(host, "/usr/bin/python3", "-c",
                    "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('10.5.0.2', 4791))")
    wait_for(lambda: queues(d, "eth0")[3]["sent_packets"] == "3", what="RoCEv2 in TC 3")


def table_of(daemon, port):
    """The table of a port's own, {(field, protocol): priority}; None where it has none."""
    shown = {p["port"]: p for p in daemon.ctl("show", "application")["ports"]}[port]
    return {(e["field"], e["protocol"]): e["priority"] for e in shown.get("own", [])} if shown["agreed"] else None


def test_what_dcbx_agrees_on_is_used(sandbox, wire, wait_for):
    """Host and switch, each with losslessd: the host takes the switch's priorities, its packets go by them, and it
    goes back to its own when the switch says no more."""
    host, switch = sandbox.netns("host"), sandbox.netns("switch")
    sandbox.veth((host, "eth0", "02:00:00:00:0a:01"), (switch, "swp1", "02:00:00:00:0b:01"))
    sandbox.veth((host, "eth1", ""), (switch, "swp2", ""))
    lldp = {"lldp": {"enabled": True}}
    d = sandbox.daemon(host, [{"name": "eth0", "trust": "application", "dcbx": {"on": True, "app_willing": True}},
                              {"name": "eth1", "trust": "application"}], name="h", tables=lldp)
    entries = [{"field": "udp", "protocol": 4791, "priority": 5}, {"field": "tcp", "protocol": 3260, "priority": 4}]
    s = sandbox.daemon(switch, ["swp1", "swp2"], name="s",
                       tables={**lldp, "application": entries, "dcbx": {"on": True}})
    wait_for(lambda: table_of(d, "eth0") == {("udp", 4791): 5, ("tcp", 3260): 4}, what="the switch's priorities")
    assert table_of(d, "eth1") is None and table_of(s, "swp1") is None
    assert dcbx(d, "eth0")["operational"]["apps"]["by"] == "peer"
    assert "udp 4791 = 5" in d.run_ctl("show", "application").stdout

    ip = Ether(src="02:00:00:00:0b:01", dst="02:00:00:00:0a:01") / IP(src="10.0.0.1", dst="10.0.0.2")
    for port, out in (("eth0", "swp1"), ("eth1", "swp2")):
        wire(switch, out).send(*[ip / UDP(dport=4791) / bytes(64)] * 7)
        wait_for(lambda p=port: queues(d, p)[5 if p == "eth0" else 3]["rx_packets"] == "7", what=f"RoCEv2 at {port}")
    before = queues(d, "eth0")[5]["rx_packets"]

    s.configure({}, [{"name": "swp1"}, {"name": "swp2"}], tables={**lldp, "application": []})
    assert s.run_ctl("reload").returncode == 0
    wait_for(lambda: table_of(d, "eth0") is None, what="the host's own priorities")
    wire(switch, "swp1").send(*[ip / UDP(dport=4791) / bytes(64)] * 3)
    wait_for(lambda: queues(d, "eth0")[3]["rx_packets"] == "3", what="RoCEv2 as configured")
    assert queues(d, "eth0")[5]["rx_packets"] == before
