# SPDX-License-Identifier: Apache-2.0
"""The application priority table: ports that trust it, for forwarded and for local packets."""

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
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
