# SPDX-License-Identifier: Apache-2.0
"""Native XDP on a NIC: two virtio-net devices on one wire, one of them a port.

    far [namespace a] eth0 ~~~ wire ~~~ nic0 [namespace sw: br0, losslessd] h2 --- eth0 [namespace b]
"""

import json
import struct
import subprocess
from pathlib import Path

import pytest
from scapy.contrib.roce import cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from roce_packets import WRITE_ONLY, cm, packet, sport

pytestmark = pytest.mark.usefixtures("nothing_left")

TC, QP1, QP2 = 3, 0x111, 0x222
PORT = sport(QP1, QP2)
NEAR_MAC = "02:00:00:00:10:77"
START_S = 150  # the first program that runs comes through 9p, emulated
NATIVE = 1  # XDP_ATTACHED_DRV of linux/if_link.h
QUEUES = {"3": {"lossless": True, "limit": "1MB", "pfc": {"xoff": "50KB", "xon_offset": "20KB", "headroom": "100KB"}}}


def ip(*command):
    done = subprocess.run(["ip", *command], text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(command)}: {done.stderr}"
    return done.stdout


def virtio_nics():
    return sorted(p.name for p in Path("/sys/class/net").iterdir()
                  if (p / "device/driver").exists() and (p / "device/driver").resolve().name == "virtio_net")


class Wired:
    """As the star of tests/netns, with a wire between NICs in place of h1's veth."""

    def __init__(self, sandbox):
        self._sandbox = sandbox
        self.sw = sandbox.netns("sw")
        self.ns = {"h1": sandbox.netns("a"), "h2": sandbox.netns("b")}
        near, far = virtio_nics()
        ip("link", "set", near, "address", NEAR_MAC, "netns", self.sw, "name", "nic0")
        ip("link", "set", far, "netns", self.ns["h1"], "name", "eth0", "address", self.mac("h1"))
        for netns, dev in ((self.sw, "nic0"), (self.ns["h1"], "eth0")):
            ip("-n", netns, "link", "set", dev, "up")
        sandbox.veth((self.ns["h2"], "eth0", self.mac("h2")), (self.sw, "h2", ""))

    def bridge(self):
        self._sandbox.bridge(self.sw, ["nic0", "h2"])

    def ip(self, host):
        return f"10.11.0.{host[1]}"

    def mac(self, host):
        return f"02:00:0a:0b:00:0{host[1]}"

    def link(self):
        return json.loads(ip("-n", self.sw, "-j", "-d", "link", "show", "dev", "nic0"))[0]


@pytest.fixture
def wired(sandbox, wait_for):
    subprocess.run(["modprobe", "virtio_net"], check=True)
    # They come back from the namespaces of the test before a moment after those are gone.
    wait_for(lambda: len(virtio_nics()) == 2, 30, "two NICs: start the machine with --nics 2")
    return Wired(sandbox)


def started(daemon):
    daemon.start()
    daemon.wait_ready(START_S)
    return daemon


def hook(daemon):
    port = next(p for p in daemon.ctl("show", "capabilities")["ports"] if p["port"] == "nic0")
    return next(c["detail"] for c in port["capabilities"] if c["name"] == "ingress-hook")


def test_a_switch_port(wired, sandbox, wire, wait_for):
    wired.bridge()
    d = started(sandbox.daemon(wired.sw, [{"name": p, "rate": "10mbit"} for p in ("nic0", "h2")], QUEUES, start=False))
    assert wired.link()["xdp"]["mode"] == NATIVE
    assert "xdpgeneric" not in ip("-n", wired.sw, "link", "show", "dev", "nic0")
    assert hook(d).startswith("native XDP")
    a, b, port = wire(wired.ns["h1"], "eth0"), wire(wired.ns["h2"], "eth0"), wire(wired.sw, "nic0")

    # PFC: honoured, and taken off before the stack: a packet socket sees what XDP has let pass.
    classes = 1 << TC
    body = struct.pack("!HH8H", 0x0101, classes, *[0xffff if tc == TC else 0 for tc in range(8)])
    a.send(Ether(src=wired.mac("h1"), dst="01:80:c2:00:00:01", type=0x8808) / body.ljust(46, b"\0"))

    def paused():
        return next(q for q in d.ctl("show", "pfc", "nic0")["queues"] if q["tc"] == TC)
    wait_for(lambda: int(paused()["rx_frames"]) == 1, 30, "the PFC frame")
    wait_for(lambda: int(paused()["transitions"]) == 1, 30, "the gate")
    assert not port.receive(1, lambda p: p.type == 0x8808, limit_s=1)

    # Flows: counted once, with the pair that CM tells.
    b.send(packet(wired, "h2", "h1", 5, 50000))  # the bridge learns where h2 is
    a.send(cm(wired, "h1", "h2", 0x10, 7, qpn=QP1))
    assert b.receive(1, lambda p: UDP in p and p[UDP].dport == 4791, limit_s=30)
    b.send(cm(wired, "h2", "h1", 0x13, 8, 7, qpn=QP2))
    wait_for(lambda: sum(int(p["paired_cm"]) for p in d.ctl("show", "flows", "--statistics")["ports"]) == 1, 30, "the pair")
    frames = [packet(wired, "h1", "h2", QP2, PORT, opcode=WRITE_ONLY, psn=psn) for psn in (5, 6, 7, 9)]
    a.send(*frames)
    assert len(b.receive(4, lambda p: UDP in p and p[UDP].sport == PORT, limit_s=30)) == 4

    def flow():
        return next((f for f in d.ctl("show", "flows", "--qp", str(QP2))["flows"] if f["qp"] == QP2), None)
    wait_for(lambda: (f := flow()) and f["egress"] == "h2", 30, "the flow")
    f = flow()
    assert (int(f["packets"]), int(f["bytes"]), f["gaps"]) == (4, sum(map(len, frames)), 1)
    assert (f["ingress"], f["tc"], f["paired_by"], f["peer_qp"]) == ("nic0", TC, "cm", QP1)
    d.ctl("detach", "--all")
    assert "xdp" not in wired.link()


def test_a_host(wired, sandbox, wire, wait_for):
    d = started(sandbox.daemon(wired.sw, ["nic0"], tables={"": {"role": "host"}, "dcqcn": {"enabled": True}}, start=False))
    assert wired.link()["xdp"]["mode"] == NATIVE
    a, port = wire(wired.ns["h1"], "eth0"), wire(wired.sw, "nic0")

    def frame(opcode, number):
        raw = bytearray(bytes(Ether(src=wired.mac("h1"), dst=NEAR_MAC)
                              / IP(src="10.0.0.1", dst="10.0.0.2", tos=48 << 2, id=number)
                              / UDP(sport=0xc001, dport=4791, chksum=0) / cnp(dqpn=0x11)))
        raw[42] = opcode
        return bytes(raw)
    a.send(frame(0x81, 1), frame(0xff, 2), frame(0x0d, 3))

    def shown():
        return d.ctl("show", "dcqcn")["ports"][0]
    seen = port.receive(1, lambda p: UDP in p, limit_s=30)
    assert [bytes(p)[42] for p in seen] == [0x0d], "the stack gets what is neither a CNP nor unknown"
    wait_for(lambda: shown()["rp_cnp_ignored"] == "1" and shown()["dropped"].get("opcode") == "1", 30, "both counters")
