# SPDX-License-Identifier: Apache-2.0
"""The pools of the buffer model on real ports."""

import pytest

from departures import LOG_DEBUG
from test_pfc import LONGEST, OTHER_TC, TC, data, is_data, is_pfc, pfc, row, times_of

POOL = 100_000
BUFFER = {"shared": POOL, "headroom": 200_000}


def pools(daemon):
    return {p["name"]: {k: int(v) for k, v in p.items() if k != "name"}
            for p in daemon.ctl("show", "buffer")["pools"]}


def start(star, queues, buffer=BUFFER, rate="10mbit", hosts=3):
    s = star(hosts)
    d = s.daemon(queues=queues, port={"rate": rate}, start=False)
    d.config.write_text(d.config.read_text().replace("[queue", "[buffer]\n" + "".join(
        f"{k} = {v}\n" for k, v in buffer.items()) + "\n[queue", 1))
    d.start(more=LOG_DEBUG)
    d.wait_ready()
    return s, d


LOSSLESS = {"3": {"lossless": True, "limit": "1MB", "guaranteed": 5000,
                  "pfc": {"alpha": "1", "headroom": "50KB", "xon_offset": "4KB"}}}


def test_a_dynamic_threshold_stops_each_peer_at_its_share(star, wire, wait_for, departures):
    s, d = start(star, LOSSLESS)
    wires = {h: wire(s.ns[h], "eth0") for h in s.hosts}
    wires["h3"].send(pfc({TC: LONGEST}))
    wait_for(lambda: row(d, "h3")["paused"], what="the queue paused")
    frame = data(s, TC, to="h3")
    wires["h1"].send(*[frame] * 80)
    assert [times_of(p)[TC] > 0 for p in wires["h1"].receive(1, is_pfc, limit_s=2)] == [True]

    def rested():
        now = pools(d)
        return now if now["shared"]["used_bytes"] and now["headroom"]["used_bytes"] else None
    now = wait_for(rested, what="headroom in use")
    size = len(frame)
    assert now["guaranteed"]["used_bytes"] == 5000
    # Alone: as much as is left free, beside the guarantee and a frame that did not fit.
    assert POOL / 2 - size <= now["shared"]["used_bytes"] <= POOL / 2 + size
    assert row(d, "h1")["peer_stopped"] and not row(d, "h2")["peer_stopped"]
    # A second sender finds half the pool: its threshold is half of that.
    wires["h2"].send(*[data(s, TC, sender="h2", to="h3")] * 60)
    wait_for(lambda: row(d, "h2")["peer_stopped"], what="the second peer stopped")
    assert pools(d)["shared"]["used_bytes"] == pytest.approx(POOL * 3 / 4, abs=2 * size)
    limit = row(d, "h1", what="buffer")
    assert int(limit["xoff_bytes"]) == pytest.approx(5000 + POOL / 4, abs=2 * size), "show has the threshold of now"
    wires["h3"].send(pfc({TC: 0}))
    assert len(wires["h3"].receive(140, is_data, limit_s=10)) == 140
    wait_for(lambda: all(p["used_bytes"] == 0 for p in pools(d).values()), what="empty pools")
    for host in ("h1", "h2"):
        assert not row(d, host)["peer_stopped"]
    assert not any(p["over_limit"] for p in pools(d).values())
    departures.nothing_set_right(d)


def test_a_threshold_that_rises_lets_a_standing_peer_go_on(star, wire, wait_for):
    """h1's frames wait for h4, which is stopped; it is what h2 gives back that lets h1 go on."""
    s, d = start(star, LOSSLESS, hosts=4)
    wires = {h: wire(s.ns[h], "eth0") for h in s.hosts}
    wires["h4"].send(pfc({TC: LONGEST}))
    wires["h3"].send(pfc({TC: LONGEST}))
    wait_for(lambda: row(d, "h3")["paused"] and row(d, "h4")["paused"], what="the queues paused")
    wires["h2"].send(*[data(s, TC, sender="h2", to="h3")] * 60)
    wait_for(lambda: row(d, "h2")["peer_stopped"], what="the second peer stopped")
    wires["h1"].send(*[data(s, TC, to="h4")] * 40)
    wait_for(lambda: row(d, "h1")["peer_stopped"], what="the first peer stopped")
    held = int(row(d, "h1", what="buffer")["ingress_bytes"])
    wires["h3"].send(pfc({TC: 0}))
    wait_for(lambda: not row(d, "h1")["peer_stopped"], limit_s=2.5, what="the first peer let go")
    assert row(d, "h4")["paused"] and held - int(row(d, "h1", what="buffer")["ingress_bytes"]) <= len(data(s, TC))


def test_lossy_packets_are_dropped_when_the_pool_is_full(star, wire, wait_for):
    s, d = start(star, {"2": {"limit": "1MB", "guaranteed": 5000}}, rate="5mbit")
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    sent = 400
    sender.send(*[data(s, OTHER_TC)] * sent)
    wait_for(lambda: int(row(d, "h1", OTHER_TC, "packet-drop")["pool"]) > 100, what="drops")
    got = len(receiver.receive(sent, is_data, limit_s=3))
    dropped = int(row(d, "h1", OTHER_TC, "packet-drop")["pool"])
    assert got + dropped == sent
    assert int(row(d, "h2", OTHER_TC, "packet-drop")["tail"]) == 0
    now = pools(d)
    assert now["shared"]["over_limit"] == dropped and now["shared"]["peak_bytes"] <= POOL
    text = d.run_ctl("show", "buffer").stdout
    assert "POOL" in text and "guaranteed" in text
    d.ctl("clear", "watermark")
    assert pools(d)["shared"] == {**now["shared"], "used_bytes": 0, "used_cells": 0, "peak_bytes": 0, "over_limit": 0}


def test_a_changed_guarantee_leaves_the_pools_right(star, wire, wait_for):
    s, d = start(star, {"2": {"limit": "1MB", "guaranteed": 5000}}, rate="1mbit")
    sender = wire(s.ns["h1"], "eth0")
    sender.send(*[data(s, OTHER_TC)] * 50)
    wait_for(lambda: pools(d)["shared"]["used_bytes"] > 0, what="the pool in use")
    d.config.write_text(d.config.read_text().replace("guaranteed = 5000", "guaranteed = 20000"))
    d.ctl("reload")
    wait_for(lambda: all(p["used_bytes"] == 0 for p in pools(d).values()), what="empty pools")
