# SPDX-License-Identifier: Apache-2.0
"""Native XDP beside tcx. It is for NICs (tests/vm/cases/test_xdp.py has those of a guest), but a veth has it as well,
where the configuration insists, and the way through the machine is the same."""

import ctypes
import json
import os
import socket

from scapy.contrib.roce import BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from roce_packets import WRITE_ONLY, ack, cm, packet, sport
from vethlab.namespaces import in_namespace

QP1, QP2 = 0x111, 0x222
PORT = sport(QP1, QP2)
NATIVE, GENERIC = 1, 2  # IFLA_XDP_ATTACHED of linux/if_link.h


def link(sandbox, netns, dev):
    return json.loads(sandbox.run(netns, "ip", "-j", "-d", "link", "show", "dev", dev))[0]


def hook(daemon, port):
    ports = {p["port"]: p["capabilities"] for p in daemon.ctl("show", "capabilities")["ports"]}
    return next(c["detail"] for c in ports[port] if c["name"] == "ingress-hook")


def flow_to(daemon, qp):
    return next((f for f in daemon.ctl("show", "flows", "--qp", str(qp))["flows"] if f["qp"] == qp), None)


def test_veth_has_it_only_when_told_to(star, sandbox):
    s = star(2)
    d = s.daemon()
    assert "xdp" not in link(sandbox, s.switch, "h1")
    assert hook(d, "h1") == "tcx; native XDP loses bursts on veth and tap and is for NICs"
    assert [p["xdp"] for p in d.ctl("show", "ports")["ports"]] == ["off", "off"]
    d.configure({}, [{"name": "h1", "xdp": "native"}, {"name": "h2", "xdp": "off"}])
    assert [c["path"] for c in d.ctl("reload")["changes"]] == ["port.h1.xdp", "port.h2.xdp"]
    assert link(sandbox, s.switch, "h1")["xdp"]["mode"] == NATIVE
    assert hook(d, "h1").startswith("native XDP for PFC")
    assert hook(d, "h2") == "tcx; xdp is off in the configuration"
    assert [p["xdp"] for p in d.ctl("show", "ports")["ports"]] == ["native", "off"]
    d.configure({}, [{"name": h} for h in s.hosts])
    d.ctl("reload")
    assert "xdp" not in link(sandbox, s.switch, "h1")


def test_flows_are_counted_once_and_paired(star, wire, wait_for):
    s = star(2)
    d = s.daemon(port={"xdp": "native"})
    a, b = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    a.send(cm(s, "h1", "h2", 0x10, 7, qpn=QP1))
    assert b.receive(1, lambda p: UDP in p and p[UDP].dport == 4791)
    b.send(cm(s, "h2", "h1", 0x13, 8, 7, qpn=QP2))
    frames = [packet(s, "h1", "h2", QP2, PORT, opcode=WRITE_ONLY, psn=psn, ackreq=1) for psn in (5, 6, 7, 9)]
    a.send(*frames)
    assert len(b.receive(4, lambda p: UDP in p and p[UDP].sport == PORT)) == 4
    b.send(ack(s, "h2", "h1", QP1, PORT, psn=9))
    wait_for(lambda: (f := flow_to(d, QP2)) and f["egress"] == "h2" and flow_to(d, QP1), what="the flows")
    f = flow_to(d, QP2)
    assert (int(f["packets"]), int(f["bytes"]), f["gaps"], f["last_psn"]) == (4, sum(map(len, frames)), 1, 9)
    assert (f["ingress"], f["tc"], f["paired_by"], f["peer_qp"]) == ("h1", 3, "cm", QP1)
    stats = {p["port"]: p for p in d.ctl("show", "flows", "--statistics")["ports"]}
    assert (stats["h1"]["packets"], stats["h1"]["cm_messages"]) == ("5", "1")


def test_what_ends_here_never_reaches_the_stack(sandbox, wire, wait_for):
    host, far = sandbox.netns("host"), sandbox.netns("far")
    sandbox.veth((host, "eth0", "02:00:00:00:00:02"), (far, "eth0", "02:00:00:00:00:01"))
    d = sandbox.daemon(host, [{"name": "eth0", "xdp": "native"}], tables={"": {"role": "host"}, "dcqcn": {"enabled": True}})
    sender, stack = wire(far, "eth0"), wire(host, "eth0")

    def frame(above, number, tos=26 << 2 | 2):
        return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / \
            IP(src="10.0.0.1", dst="10.0.0.2", tos=tos, id=number) / UDP(sport=0xc001, dport=4791, chksum=0) / above

    unknown = bytearray(bytes(frame(cnp(dqpn=0x11), 8)))
    unknown[42] = 0xff
    marked = frame(BTH(opcode=WRITE_ONLY, dqpn=0x11, psn=1) / Raw(bytes(64)), 9, tos=26 << 2 | 3)
    pause = bytes.fromhex("0180c2000001" "020000000001" "8808" "0101" "0008") + bytes(44)
    sender.send(pause, frame(cnp(dqpn=0x11), 7, tos=48 << 2), bytes(unknown), marked)

    def port():
        return d.ctl("show", "dcqcn")["ports"][0]
    wait_for(lambda: port()["np_ecn_marked_roce_packets"] == "1", what="the marked packet")
    assert (port()["rp_cnp_ignored"], port()["dropped"]["opcode"]) == ("1", "1")
    # A packet socket sees frames before tcx does, and after XDP.
    seen = stack.receive(2, lambda p: p.src == "02:00:00:00:00:01" and (UDP in p or p.type == 0x8808), limit_s=1)
    assert [bytes(p)[42] for p in seen] == [WRITE_ONLY]


def attach_another(ifindex):
    """A program that passes everything, named "someone", in generic mode; it stays when its descriptor is closed."""
    libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
    instructions = bytes.fromhex("b700000002000000" "9500000000000000")
    program = libbpf.bpf_prog_load(6, b"someone", b"GPL", instructions, ctypes.c_size_t(2), None)
    assert program >= 0, program
    assert libbpf.bpf_xdp_attach(ifindex, program, 2, None) == 0
    os.close(program)


def test_another_program_is_left_alone(star, sandbox, wait_for):
    s = star(2)
    in_namespace(s.switch, lambda: attach_another(socket.if_nametoindex("h1")))
    before = link(sandbox, s.switch, "h1")["xdp"]
    assert before["mode"] == GENERIC
    d = s.daemon(port={"xdp": "native"}, start=False)
    d.start()

    def states():
        done = d.run_ctl("show", "ports", "--json")
        return {p["name"]: p for p in json.loads(done.stdout)["ports"]} if done.returncode == 0 else {}
    wait_for(lambda: states() and states()["h2"]["state"] == "ATTACHED", 20, "port h2")
    refused = states()["h1"]
    assert refused["state"] == "REFUSED"
    assert refused["reason"].startswith('xdp = "native": another XDP program is there: id '), refused
    assert "(someone)" in refused["reason"]
    assert link(sandbox, s.switch, "h1")["xdp"]["prog"] == before["prog"]
    d.configure({}, [{"name": "h1", "xdp": "off"}, {"name": "h2"}])
    d.ctl("reload")
    assert states()["h1"]["state"] == "ATTACHED"
    assert link(sandbox, s.switch, "h1")["xdp"]["prog"] == before["prog"]


def test_a_restart_exchanges_the_program_and_detach_takes_it_away(star, sandbox, wire, wait_for):
    s = star(2)
    d = s.daemon(port={"xdp": "native"})
    wire(s.ns["h1"], "eth0").send(packet(s, "h1", "h2", QP2, PORT))
    wait_for(lambda: flow_to(d, QP2), what="the flow")
    before = link(sandbox, s.switch, "h1")["xdp"]["prog"]["id"]
    d.process.terminate()
    d.process.wait(10)
    assert link(sandbox, s.switch, "h1")["xdp"]["prog"]["id"] == before, "it outlives the daemon"
    d.start()
    d.wait_ready()
    assert link(sandbox, s.switch, "h1")["xdp"]["prog"]["id"] != before
    wire(s.ns["h1"], "eth0").send(packet(s, "h1", "h2", QP2, PORT, psn=1))
    wait_for(lambda: flow_to(d, QP2)["packets"] == "2", what="the second packet")
    d.ctl("detach", "h1")
    assert "xdp" not in link(sandbox, s.switch, "h1")
    d.ctl("detach", "--all")
    assert "xdp" not in link(sandbox, s.switch, "h2")
