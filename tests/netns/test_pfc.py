# SPDX-License-Identifier: Apache-2.0
"""Priority flow control on real ports: frames in and out as scapy builds and reads them."""

import json
import os
import signal
import struct
from pathlib import Path

import pytest
from departures import LOG_DEBUG
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

TC = 3
OTHER_TC = 2
DSCP = {TC: 26, OTHER_TC: 16}
GROUP = "01:80:c2:00:00:01"
RATE = "10mbit"
QUEUES = {"3": {"lossless": True, "limit": "1MB", "pfc": {"xoff": "50KB", "xon_offset": "20KB", "headroom": "100KB"}}}
LONGEST = 0xffff  # 3.4 s at this rate: longer than a busy machine takes for a look


def mac_control(opcode, body, dst=GROUP):
    return Ether(src="02:00:00:00:00:77", dst=dst, type=0x8808) / (struct.pack("!H", opcode) + body).ljust(46, b"\0")


def pfc(times, vector=None, **more):
    """A PFC frame: times = {tc: quanta}."""
    classes = sum(1 << tc for tc in times) if vector is None else vector
    return mac_control(0x0101, struct.pack("!H8H", classes, *[times.get(tc, 0) for tc in range(8)]), **more)


def times_of(packet):
    """{tc: quanta} of a received PFC frame."""
    opcode, classes, *times = struct.unpack("!HH8H", bytes(packet)[14:34])
    assert (opcode, packet.dst, len(packet)) == (0x0101, GROUP, 60)
    return {tc: times[tc] for tc in range(8) if classes >> tc & 1}


def is_pfc(packet):
    return packet.type == 0x8808


def data(star, tc, size=900, sport=9, sender="h1", to="h2"):
    return (Ether(src=star.mac(sender), dst=star.mac(to)) / IP(tos=DSCP[tc] << 2, src=star.ip(sender), dst=star.ip(to))
            / UDP(sport=sport, dport=9) / bytes(size))


def is_data(packet):
    return UDP in packet and packet[UDP].dport == 9


def row(daemon, port, tc=TC, what="pfc"):
    return next(q for q in daemon.ctl("show", what, port)["queues"] if q["tc"] == tc)


def port_row(daemon, port):
    return daemon.ctl("show", "pfc", port)["ports"][0]


def held(daemon):
    return sum(int(q["ingress_bytes"]) for q in daemon.ctl("show", "buffer")["queues"])


@pytest.fixture
def switch(star):
    s = star(2)
    return s, s.daemon(queues=QUEUES, port={"rate": RATE})


def test_the_named_tc_stops_and_others_flow(switch, wire, wait_for):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    receiver.send(pfc({TC: LONGEST}))
    wait_for(lambda: row(d, "h2")["paused"], what="the queue paused")
    sender.send(*[data(s, tc) for tc in (TC, OTHER_TC) for _ in range(10)])
    got = receiver.receive(20, is_data, limit_s=0.1)
    stopped = [p for p in got if p[IP].tos >> 2 == DSCP[TC]]
    assert len(got) - len(stopped) == 10
    assert len(stopped) <= 1, "a gate lets one frame out when it closes"
    receiver.send(pfc({TC: 0}))
    rest = receiver.receive(10 - len(stopped), is_data, limit_s=5)
    assert len(rest) + len(stopped) == 10
    state = row(d, "h2")
    assert not state["paused"] and int(state["transitions"]) == 1 and int(state["rx_frames"]) == 2


def test_a_pause_ends_by_itself(switch, wire, wait_for):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    receiver.send(pfc({TC: LONGEST}))
    wait_for(lambda: row(d, "h2")["paused"], what="the queue paused")
    sender.send(*[data(s, TC) for _ in range(10)])
    assert len(receiver.receive(10, is_data, limit_s=5)) == 10, "nothing is lost and nothing stays"
    state = row(d, "h2")
    assert not state["paused"] and int(state["paused_ms"]) >= 3000


def test_old_pause_frames_stop_lossless_tcs_only(switch, wire, wait_for):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    receiver.send(mac_control(0x0001, struct.pack("!H", LONGEST)))
    wait_for(lambda: row(d, "h2")["paused"], what="the queue paused")
    sender.send(*[data(s, OTHER_TC) for _ in range(10)])
    assert len(receiver.receive(10, is_data, limit_s=5)) == 10
    assert int(port_row(d, "h2")["rx_pause"]) == 1


@pytest.mark.parametrize("frame, counter", [
    (mac_control(0x0101, b"", dst="01:80:c2:00:00:02"), "bad_address"),
    (mac_control(0x0102, b"\0\x08" + b"\xff" * 16), "bad_opcode"),
    (pfc({TC: LONGEST}, vector=0x0108), "bad_vector"),
    (bytes(pfc({TC: LONGEST}))[:40], "bad_short"),
    (pfc({OTHER_TC: LONGEST}), "lossy"),
], ids=["address", "opcode", "vector", "short", "lossy"])
def test_bad_frames_are_counted_and_ignored(switch, wire, wait_for, frame, counter):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    receiver.send(frame)
    wait_for(lambda: int(port_row(d, "h2")[counter]) == 1, what=counter)
    assert not any(q["paused"] for q in d.ctl("show", "pfc")["queues"])
    sender.send(*[data(s, tc) for tc in (TC, OTHER_TC) for _ in range(5)])
    assert len(receiver.receive(10, is_data, limit_s=5)) == 10


def test_mac_control_frames_are_never_forwarded(switch, wire, wait_for):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sender.send(pfc({TC: 1}), mac_control(0x0001, b"\0\1"), mac_control(0x0102, b""), pfc({TC: 1}, dst=s.mac("h2")),
                data(s, OTHER_TC))
    got = receiver.receive(1, is_data, limit_s=5)  # sent last, so what came before it has been seen
    assert len(got) == 1
    assert receiver.drain() == 0
    assert sum(int(port_row(d, "h1")[k]) for k in ("rx_pfc", "rx_pause", "bad_opcode", "bad_address")) == 4


def test_port_down_in_mid_pause_opens_the_gate(star, sandbox, wire, wait_for):
    s = star(2)
    d = s.daemon(queues=QUEUES, port={"rate": RATE})
    receiver = wire(s.ns["h2"], "eth0")
    receiver.send(pfc({TC: LONGEST}))
    wait_for(lambda: row(d, "h2")["paused"], what="the queue paused")
    sandbox.run(s.switch, "ip", "link", "set", "h2", "down")
    wait_for(lambda: not row(d, "h2")["paused"], limit_s=1, what="the gate open before the pause is over")


def fill(star, daemon, wires, packets=120):
    """Stops the queue of h2 and sends `packets` of TC 3 into it; returns the PFC frames that h1 got."""
    sender, receiver = wires
    receiver.send(pfc({TC: LONGEST}))
    sender.drain()
    sender.send(*[data(star, TC) for _ in range(packets)])
    return [times_of(p) for p in sender.receive(1, is_pfc, limit_s=2)]


def test_the_sender_is_stopped_and_let_go_on(switch, wire, wait_for):
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    first = fill(s, d, (sender, receiver))
    quanta = row(d, "h1")["quanta"]
    assert first == [{TC: quanta}]
    assert quanta * 512 / 10e6 == pytest.approx(0.01, rel=0.01), "10 ms at the port's rate"
    refreshed = [times_of(p) for p in sender.receive(2, is_pfc, limit_s=2)]
    assert refreshed == [{TC: quanta}] * 2, "refreshed while the level stays up"
    receiver.send(pfc({TC: 0}))
    let_go = sender.receive(1, lambda p: is_pfc(p) and times_of(p) == {TC: 0}, limit_s=2)
    assert len(let_go) == 1
    assert len(receiver.receive(120, is_data, limit_s=5)) == 120
    wait_for(lambda: held(d) == 0, what="an empty buffer")
    state = row(d, "h1")
    assert not state["peer_stopped"] and int(state["tx_xon"]) == 1 and int(state["tx_xoff"]) >= 3


def test_the_buffer_model_counts_every_byte(star, wire, wait_for):
    s = star(2)
    d = s.daemon(queues=QUEUES, port={"rate": RATE})
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    receiver.send(pfc({TC: LONGEST}))
    wait_for(lambda: row(d, "h2")["paused"], what="the queue paused")
    sender.send(*[data(s, TC) for _ in range(20)])
    size = len(data(s, TC))

    def both_views():
        """The ingress row of h1 and the bytes waiting for h2, in one look; None before all frames are there."""
        rows = {q["port"]: q for q in d.ctl("show", "buffer")["queues"] if q["tc"] == TC}
        waiting = int(rows["h2"]["egress_bytes"])
        return (rows["h1"], waiting) if waiting >= 19 * size else None
    ingress, waiting = wait_for(both_views, what="frames queued")
    assert int(ingress["ingress_bytes"]) == waiting
    assert int(ingress["ingress_cells"]) == -(-waiting // 208)
    assert waiting <= int(ingress["ingress_peak_bytes"]) <= 20 * size
    receiver.send(pfc({TC: 0}))
    wait_for(lambda: held(d) == 0, what="an empty buffer")
    assert int(row(d, "h1", what="buffer")["ingress_peak_bytes"]) > 0
    d.ctl("clear", "watermark")
    assert int(row(d, "h1", what="buffer")["ingress_peak_bytes"]) == 0


def test_drops_at_a_full_queue_leave_the_buffer_model(star, wire, wait_for, departures):
    s = star(2)
    d = s.daemon(queues={"2": {"limit": "10KB"}, **QUEUES}, port={"rate": "5mbit"}, start=False)
    d.start(more=LOG_DEBUG)
    d.wait_ready()
    sender = wire(s.ns["h1"], "eth0")
    sender.send(*[data(s, OTHER_TC) for _ in range(200)])
    wait_for(lambda: int(row(d, "h2", OTHER_TC, "packet-drop")["tail"]) > 100, what="drops")
    wait_for(lambda: held(d) == 0, what="an empty buffer")
    departures.nothing_set_right(d)


def test_a_dead_daemon_leaves_nobody_paused(switch, wire, wait_for):
    """The pause of a peer runs out, the datapath goes on stopping it, and the next daemon takes the state up."""
    s, d = switch
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    assert fill(s, d, (sender, receiver))
    os.kill(d.process.pid, signal.SIGKILL)
    d.process.wait()
    while sender.drain():
        pass
    assert not sender.receive(1, is_pfc, limit_s=0.2), "nobody refreshes"
    sender.send(data(s, TC))  # as a peer does when its pause is over
    again = [times_of(p) for p in sender.receive(1, is_pfc, limit_s=2)]
    assert again and again[0][TC] > 0, "the datapath stops it again"
    d.start()
    d.wait_ready()
    assert len(receiver.receive(121, is_data, limit_s=10)) == 121, "the gate that was left closed is open"
    wait_for(lambda: not row(d, "h1")["peer_stopped"], what="the peer let go")
    wait_for(lambda: held(d) == 0, what="an empty buffer")


def test_instances_do_not_disturb_each_other(star, sandbox, wire, wait_for):
    """The tracepoints see all namespaces; each instance counts its own packets."""
    stars = [star(2, name=name) for name in ("a", "b")]
    daemons = [s.daemon(queues=QUEUES, port={"rate": RATE}, name=f"sw{i}") for i, s in enumerate(stars)]
    wires = [[wire(s.ns[h], "eth0") for h in ("h1", "h2")] for s in stars]
    wires[0][1].send(pfc({TC: LONGEST}))
    wait_for(lambda: row(daemons[0], "h2")["paused"], what="the queue paused")
    wires[0][0].send(*[data(stars[0], TC) for _ in range(20)])
    wait_for(lambda: held(daemons[0]) > 0, what="frames held")
    wires[1][0].send(*[data(stars[1], TC) for _ in range(50)])
    assert len(wires[1][1].receive(50, is_data, limit_s=5)) == 50
    wait_for(lambda: held(daemons[1]) == 0, what="an empty buffer")
    assert not row(daemons[1], "h2")["paused"]


def test_detach_removes_the_tracepoint_links(switch):
    _, d = switch
    links = Path("/sys/fs/bpf/lossless") / d.instance / "links"
    assert {"ll_left_queue", "ll_dropped_by_queue"} <= {p.name for p in links.iterdir()}
    d.detach_and_stop()
    assert not links.parent.exists()


@pytest.mark.parametrize("pfc_table, words", [
    ({"headroom": "2KB"}, ["headroom 2KB is below the", "lose packets"]),
    ({"xoff": "995KB"}, ["limit 1MB does not hold", "xoff 995KB"]),
])
def test_a_port_that_would_lose_packets_is_refused(star, wait_for, pfc_table, words):
    s = star(2)
    d = s.daemon(queues={"3": {"lossless": True, "limit": "1MB", "pfc": {"reaction_us": 5000, **pfc_table}}},
                 port={"rate": RATE}, start=False)
    d.start()

    def refusal():
        answer = d.run_ctl("show", "ports", "h1", "--json")
        return answer.returncode == 0 and json.loads(answer.stdout)["ports"][0]["reason"]
    reason = wait_for(refusal, what="a reason")
    for word in words:
        assert word in reason
