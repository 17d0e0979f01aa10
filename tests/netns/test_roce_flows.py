# SPDX-License-Identifier: Apache-2.0
"""RoCEv2 flows through a bridge: what `show flows` lists is what was sent."""

import ctypes
import os
import struct
import threading
import time

import pytest
from scapy.layers.inet import IP

from roce_packets import ack, cm, packet, sport

QP1, QP2 = 0x111, 0x222
PORT = sport(QP1, QP2)
ROW_BYTES = 192  # struct ll_roce_flow


@pytest.fixture
def switch(star):
    s = star(2)
    return s, s.daemon()


def flows(daemon, *words):
    return daemon.ctl("show", "flows", *words)["flows"]


def flow_to(daemon, qp):
    found = [f for f in flows(daemon, "--qp", str(qp)) if f["qp"] == qp]
    return found[0] if found else None


@pytest.mark.parametrize("ip", [None, ("2001:db8::1", "2001:db8::2")])
def test_a_flow_is_listed_as_it_was_sent(switch, wire, wait_for, ip):
    s, d = switch
    frames = [packet(s, "h1", "h2", QP2, PORT, psn=psn, ip=ip) for psn in (5, 6, 7, 9, 8)]
    wire(s.ns["h1"], "eth0").send(*frames)
    wait_for(lambda: (f := flow_to(d, QP2)) and f["egress"] == "h2" and f, what="the flow")
    f = flow_to(d, QP2)
    assert (f["source"], f["destination"]) == (ip or (s.ip("h1"), s.ip("h2")))
    assert (f["ingress"], f["egress"], f["tc"], f["dscp"]) == ("h1", "h2", 3, 26)
    assert (int(f["packets"]), int(f["bytes"])) == (5, sum(len(x) for x in frames))
    assert (f["gaps"], f["retransmitted"], f["last_psn"]) == (1, 1, 8)
    assert f["paired_by"] == "" and f["udp_source_port"] == PORT
    text = d.run_ctl("show", "flows").stdout
    assert f"{QP2:#08x}" in text and "1 flows, room for 65,536" in text


def test_sort_top_and_filters(switch, wire, wait_for):
    s, d = switch
    for n in range(1, 11):
        wire(s.ns["h1"], "eth0").send(*[packet(s, "h1", "h2", 100 + n, 50000, psn=i) for i in range(n)])
    wire(s.ns["h2"], "eth0").send(packet(s, "h2", "h1", 7, 50000))
    wait_for(lambda: len(flows(d)) == 11, what="all flows")
    assert [f["qp"] for f in flows(d, "--top", "3", "--sort", "packets")] == [110, 109, 108]
    assert [f["qp"] for f in flows(d, "--src", s.ip("h2"))] == [7]
    assert len(flows(d, "--dst", s.ip("h2"))) == 10
    assert len(flows(d, "--port", "h1")) == 11
    totals = d.ctl("show", "flows", "--dst", s.ip("h1"))["totals"]
    assert (int(totals["seen"]), int(totals["matched"])) == (11, 1)
    wrong = d.run_ctl("show", "flows", "--src", "10.0.0")
    assert wrong.returncode == 1 and "source '10.0.0' is no IP address" in wrong.stderr
    assert "no port h9; ports are h1, h2" in d.run_ctl("show", "flows", "--port", "h9").stderr
    assert d.ctl("clear", "flows", "--src", s.ip("h2"))["cleared"] == "1"
    assert d.ctl("clear", "flows")["cleared"] == "10"
    assert flows(d) == []


def test_cm_pairs_and_releases(switch, wire, wait_for):
    s, d = switch
    a, b = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    a.send(cm(s, "h1", "h2", 0x10, 7, qpn=QP1))
    b.send(cm(s, "h2", "h1", 0x13, 8, 7, qpn=QP2))
    a.send(packet(s, "h1", "h2", QP2, PORT))
    wait_for(lambda: flow_to(d, QP2), what="the flow")
    assert (flow_to(d, QP2)["paired_by"], flow_to(d, QP2)["peer_qp"], flow_to(d, QP2)["guess"]) == ("cm", QP1, False)
    assert d.ctl("clear", "flows")
    a.send(packet(s, "h1", "h2", QP2, PORT))
    wait_for(lambda: flow_to(d, QP2), what="the flow again")
    assert flow_to(d, QP2)["paired_by"] == "cm", "what CM said outlives the flow"
    a.send(cm(s, "h1", "h2", 0x15, 7, 8, qpn=QP2))
    wait_for(lambda: flow_to(d, QP2)["paired_by"] == "", what="the pair to end")
    stats = {p["port"]: p for p in d.ctl("show", "flows", "--statistics")["ports"]}
    assert stats["h2"]["paired_cm"] == "1" and stats["h1"]["released"] == "1"


def test_acks_pair_and_say_when_they_only_guess(switch, wire, wait_for):
    s, d = switch
    a, b = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    for qp, port, count in ((QP2, PORT, 2), (QP2 + 1, 0xD001, 12)):
        for psn in range(count):
            a.send(packet(s, "h1", "h2", qp, port, psn=psn, ackreq=1))
            b.drain() if b.receive(1, lambda p: IP in p, 2) else None
            b.send(ack(s, "h2", "h1", qp - 0x111, port, psn=psn))
            a.receive(1, lambda p: IP in p, 2)
    wait_for(lambda: flow_to(d, QP2 + 1) and flow_to(d, QP2 + 1)["paired_by"], what="the second pair")
    assert [(flow_to(d, q)["paired_by"], flow_to(d, q)["peer_qp"], flow_to(d, q)["guess"]) for q in (QP2, QP2 + 1)] == \
        [("ack", QP1, False), ("ack", QP1 + 1, True)]
    assert "ack?" in d.run_ctl("show", "flows").stdout


def test_silent_flows_are_forgotten(star, wire, wait_for):
    s = star(2)
    d = s.daemon(tables={"roce": {"age_s": 1}})
    wire(s.ns["h1"], "eth0").send(packet(s, "h1", "h2", QP2, PORT))
    wait_for(lambda: flows(d), what="the flow")
    wait_for(lambda: not flows(d), what="its end")


def test_bad_packets_are_counted_and_forwarded(switch, wire, wait_for):
    s, d = switch
    frame = bytearray(bytes(packet(s, "h1", "h2", QP2, PORT)))
    frame[42] = 0xE3  # no such opcode
    receiver = wire(s.ns["h2"], "eth0")
    wire(s.ns["h1"], "eth0").send(bytes(frame))
    assert receiver.receive(1, lambda p: IP in p and bytes(p)[42] == 0xE3)
    stats = {p["port"]: p for p in d.ctl("show", "flows", "--statistics")["ports"]}
    assert stats["h1"]["bad"] == {"opcode": "1"}
    assert "1 opcode" in d.run_ctl("show", "flows", "--statistics").stdout


def test_off_and_the_size_of_the_table(star, wire):
    s = star(2)
    d = s.daemon(tables={"roce": {"flows": False}})
    wire(s.ns["h1"], "eth0").send(packet(s, "h1", "h2", QP2, PORT))
    assert "not followed" in d.run_ctl("show", "flows").stdout
    ports = [{"name": h} for h in s.hosts]
    d.configure({}, ports, tables={"roce": {"flows": True}})
    assert [c["path"] for c in d.ctl("reload")["changes"]] == ["roce.flows"]
    d.configure({}, ports, tables={"roce": {"max_flows": 2000}})
    refused = d.run_ctl("reload")
    assert refused.returncode == 1 and "roce.max_flows cannot change" in refused.stderr


def test_a_restart_keeps_flows_and_a_new_size_starts_anew(switch, wire, wait_for):
    s, d = switch
    wire(s.ns["h1"], "eth0").send(packet(s, "h1", "h2", QP2, PORT))
    wait_for(lambda: flows(d), what="the flow")
    d.process.terminate()
    d.process.wait(10)
    d.start()
    d.wait_ready()
    assert flow_to(d, QP2)["packets"] == "1"
    d.process.terminate()
    d.process.wait(10)
    d.configure({}, [{"name": h} for h in s.hosts], tables={"roce": {"max_flows": 2000}})
    d.start()
    d.wait_ready()
    assert flows(d) == []
    assert d.ctl("show", "flows")["totals"]["max_flows"] == "2000"
    assert d.ctl("show", "ports")["ports"][0]["state"] == "ATTACHED"


def write_rows(path, values):
    """All of them from row 0 on, in one call."""
    libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
    fd = libbpf.bpf_obj_get(str(path).encode())
    assert fd >= 0, path
    try:
        count = ctypes.c_uint32(len(values))
        keys = struct.pack(f"={len(values)}I", *range(len(values)))
        failed = libbpf.bpf_map_update_batch(fd, keys, b"".join(values), ctypes.byref(count), None)
        assert failed == 0, f"{path}: {os.strerror(ctypes.get_errno())}"
    finally:
        os.close(fd)


def fill_table(maps, count):
    """Puts flows into the pinned maps, as many a second as packets could not. No packet would find them."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    head = bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 1]) + bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 2])
    write_rows(f"{maps}/roce_flows", [
        (head + struct.pack("=IIQQQ", qp, 1, 1, 1000, now)).ljust(ROW_BYTES, b"\0") for qp in range(2, count + 2)])
    tags = struct.pack("=24H", *range(1, 25))
    write_rows(f"{maps}/roce_sets", [bytes(16) + tags] * (count // 24))


def test_a_large_table_is_cleared_while_others_are_answered(star):
    s = star(2)
    d = s.daemon(tables={"roce": {"max_flows": 1_000_000, "age_s": 86400}})
    fill_table(f"/sys/fs/bpf/lossless/{d.instance}/maps", 900_000)
    before = int(d.ctl("show", "flows", "--top", "1")["totals"]["seen"])
    assert before == 900_000
    cleared, answered = [], []
    # Each goes through the whole table, and finds none to clear.
    walks = [threading.Thread(
        target=lambda: cleared.append(d.ctl("--timeout", "60", "clear", "flows", "--qp", "1")["cleared"]))
        for _ in range(8)]
    for walk in walks:
        walk.start()
    while any(walk.is_alive() for walk in walks):
        d.ctl("show", "ports")
        answered.append(any(walk.is_alive() for walk in walks))
    assert any(answered), "every other call waited for their end"
    assert cleared == ["0"] * len(walks)
    assert int(d.ctl("--timeout", "60", "clear", "flows")["cleared"]) == before
    assert int(d.ctl("show", "flows", "--top", "1")["totals"]["seen"]) == 0
