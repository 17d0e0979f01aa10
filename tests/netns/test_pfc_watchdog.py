# SPDX-License-Identifier: Apache-2.0
"""Deadlock watchdog, escape and rate alarms on real ports, with storms made by scapy. docs/pfc-watchdog.md has
the verdict for each kind of storm; the state machine itself is tested in tests/unit."""

import os
import signal
import time
from pathlib import Path

import pytest
from test_pfc import DSCP, LONGEST, OTHER_TC, QUEUES, RATE, TC, data, is_data, pfc, port_row, row
from scapy.layers.inet import IP

QUICK = {"on": True, "detection_ms": 100, "recovery_ms": 200, "poll_ms": 20}


def dog(daemon, port="h2", tc=TC):
    return next(q for q in daemon.ctl("show", "pfc-watchdog", port)["queues"] if q["tc"] == tc)


def dropped(daemon, port="h2", tc=TC):
    return int(row(daemon, port, tc, "packet-drop")["watchdog"])


class Storm:
    """h2 stops the switch's queue; h1 sends into it."""

    def __init__(self, star, wire, wait_for, **watchdog):
        self.star = star(2)
        self.daemon = self.star.daemon(queues=QUEUES, port={"rate": RATE, "watchdog": {**QUICK, **watchdog}})
        self.sender, self.receiver = wire(self.star.ns["h1"], "eth0"), wire(self.star.ns["h2"], "eth0")
        self.wait_for = wait_for
        self.sent = 0

    def stop(self, quanta=LONGEST, tc=TC):
        self.receiver.send(pfc({tc: quanta}))

    def send(self, packets=10, tc=TC):
        self.sender.send(*[data(self.star, tc) for _ in range(packets)])
        self.sent += packets

    def begin(self):
        self.stop()
        self.wait_for(lambda: row(self.daemon, "h2")["paused"], what="the queue paused")
        self.send()

    def state(self, wanted):
        self.wait_for(lambda: dog(self.daemon)["state"] == wanted, what=f"state {wanted}")


@pytest.fixture
def storm(star, wire, wait_for):
    return lambda **watchdog: Storm(star, wire, wait_for, **watchdog)


def test_drop_loses_exactly_what_it_counts_and_ends_with_the_storm(storm):
    s = storm()
    s.begin()
    s.state("recovering")
    assert not row(s.daemon, "h2")["paused"] and row(s.daemon, "h2")["withheld"] == "recovering"
    s.send(20)
    s.wait_for(lambda: dropped(s.daemon) >= 20, what="packets dropped by the action")
    s.send(5, OTHER_TC)
    s.stop(0)
    s.state("watching")
    s.send(10)
    got = s.receiver.receive(s.sent, is_data, limit_s=1)
    assert sum(p[IP].tos >> 2 == DSCP[OTHER_TC] for p in got) == 5, "other TCs flow on"
    assert len(got) - 5 >= 10, "what comes after the recovery gets through"
    assert s.sent - len(got) == dropped(s.daemon), "every packet that is missing was counted"
    assert int(row(s.daemon, "h2", what="packet-drop")["tail"]) == 0, "and not twice"
    last = dog(s.daemon)["history"][-1]
    assert last["end"] == "storm-over" and last["action"] == "drop" and int(last["backlog_bytes"]) > 0
    assert int(last["dropped_packets"]) == dropped(s.daemon)
    assert row(s.daemon, "h2")["withheld"] == ""
    s.wait_for(lambda: all(int(q["ingress_bytes"]) == 0 for q in s.daemon.ctl("show", "buffer")["queues"]),
               what="an empty buffer")


def test_forward_sends_in_spite_of_the_pause(storm):
    s = storm(action="forward")
    s.begin()
    assert len(s.receiver.receive(10, is_data, limit_s=5)) == 10
    assert dog(s.daemon)["state"] == "recovering" and dropped(s.daemon) == 0


def test_alert_only_reports(storm):
    s = storm(action="alert")
    s.begin()
    s.state("alerted")
    assert row(s.daemon, "h2")["paused"] and dropped(s.daemon) == 0
    s.stop(0)
    assert len(s.receiver.receive(10, is_data, limit_s=5)) == 10
    s.state("watching")
    assert "PFC deadlock" in s.daemon.log.read_text()


def test_manual_mode_waits_for_an_operator_also_over_a_restart(storm):
    s = storm(mode="manual")
    s.begin()
    s.state("recovering")
    s.stop(0)
    s.state("off")
    assert dog(s.daemon)["off_reason"] == "manual"
    os.kill(s.daemon.process.pid, signal.SIGKILL)
    s.daemon.process.wait()
    s.daemon.start()
    s.daemon.wait_ready()
    assert dog(s.daemon)["state"] == "off" and row(s.daemon, "h2")["withheld"] == "manual"
    s.stop()
    s.send()
    assert len(s.receiver.receive(10, is_data, limit_s=5)) == 10, "no PFC meanwhile"
    assert s.daemon.run_ctl("pfc", "recover", "h2", str(TC)).returncode == 0
    s.wait_for(lambda: row(s.daemon, "h2")["paused"], what="the pause that runs obeyed again")
    again = s.daemon.run_ctl("pfc", "recover", "h2", str(TC))
    assert again.returncode == 1 and "withholds nothing from TC 3 of port h2" in again.stderr


def test_the_trigger_limit_forces_pfc_off(storm):
    s = storm(trigger_limit=1)
    s.begin()
    s.state("off")
    assert dog(s.daemon)["off_reason"] == "trigger-limit" and dropped(s.daemon) == 0
    assert len(s.receiver.receive(10, is_data, limit_s=5)) == 10, "forwarded as in a lossy TC"


def test_nothing_is_dropped_after_a_restart_in_mid_storm(storm):
    s = storm(recovery_ms=60000)
    s.begin()
    s.state("recovering")
    s.daemon.process.send_signal(signal.SIGTERM)
    s.daemon.process.wait()
    before = s.receiver.drain()
    s.send(10)
    s.stop(0)
    s.daemon.start()
    s.daemon.wait_ready()
    s.send(10)
    assert len(s.receiver.receive(20, is_data, limit_s=5)) == 20, before
    assert dog(s.daemon)["state"] == "watching"


def test_a_killed_daemon_drops_for_ten_polls_at_most(storm):
    s = storm(recovery_ms=60000)
    s.begin()
    s.state("recovering")
    os.kill(s.daemon.process.pid, signal.SIGKILL)
    s.daemon.process.wait()

    def gets_through():
        s.send(1)
        return s.receiver.receive(1, is_data, limit_s=0.05)
    s.wait_for(gets_through, limit_s=5, what="a packet that is not dropped")


def test_a_storm_on_all_lossless_tcs_is_one_deadlock_each(star, wire, wait_for):
    s = star(2)
    lossless = {str(tc): QUEUES["3"] for tc in (3, 4)}
    d = s.daemon(queues=lossless, port={"rate": RATE, "watchdog": QUICK})
    sender, receiver = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    receiver.send(pfc(dict.fromkeys(range(8), LONGEST)))
    wait_for(lambda: row(d, "h2")["paused"], what="the queue paused")
    frames = [data(s, 3) for _ in range(5)]
    other = [f.copy() for f in frames]
    for f in other:
        f[IP].tos = 34 << 2
    sender.send(*frames, *other)
    for tc in (3, 4):
        wait_for(lambda tc=tc: int(dog(d, tc=tc)["prolonged"]) >= 2, what=f"TC {tc} recovering on and on")
        assert int(dog(d, tc=tc)["deadlocks"]) == 1
    assert int(port_row(d, "h2")["lossy_storms"]) == 6, "the lossy ones are counted and left alone"


def test_a_storm_on_a_lossy_tc_is_counted_and_ignored(storm):
    s = storm()
    s.stop(tc=OTHER_TC)
    s.wait_for(lambda: int(port_row(s.daemon, "h2")["lossy_storms"]) == 1, what="the storm counted")
    s.send(10, OTHER_TC)
    assert len(s.receiver.receive(10, is_data, limit_s=5)) == 10
    assert s.daemon.ctl("show", "pfc-watchdog", "h2")["queues"][0]["state"] == "watching"


def test_time_zero_storm_after_an_xoff_storm(storm):
    s = storm()
    s.begin()
    s.state("recovering")
    for _ in range(50):
        s.stop(0)
    s.state("watching")
    assert int(dog(s.daemon)["deadlocks"]) == 1 and int(row(s.daemon, "h2")["transitions"]) == 1


def test_port_down_in_mid_recovery_clears_the_state(storm, sandbox):
    s = storm(recovery_ms=60000)
    s.begin()
    s.state("recovering")
    sandbox.run(s.star.switch, "ip", "link", "set", "h2", "down")
    s.state("watching")
    assert dog(s.daemon)["history"][-1]["end"] == "port-down" and not dog(s.daemon)["asked"]
    sandbox.run(s.star.switch, "ip", "link", "set", "h2", "up")
    s.wait_for(lambda: s.daemon.ctl("show", "ports", "h2")["ports"][0]["link_up"], what="the link up")
    assert not row(s.daemon, "h2")["paused"], "what was asked for before the link went down is forgotten"


def test_escape_turns_pfc_off_and_back_and_survives_a_restart(storm):
    s = storm()
    s.stop()
    s.wait_for(lambda: row(s.daemon, "h2")["paused"], what="the queue paused")
    assert s.daemon.ctl("pfc", "escape", "on") == {"on": True, "changed": True}
    assert s.daemon.ctl("pfc", "escape", "on") == {"on": True, "changed": False}
    s.wait_for(lambda: not row(s.daemon, "h2")["paused"], what="the gate open")
    assert {q["withheld"] for q in s.daemon.ctl("show", "pfc")["queues"] if q["tc"] == TC} == {"escape"}
    os.kill(s.daemon.process.pid, signal.SIGKILL)
    s.daemon.process.wait()
    s.daemon.start()
    s.daemon.wait_ready()
    assert s.daemon.ctl("show", "pfc-watchdog")["escape"]
    s.stop()
    s.send()
    assert len(s.receiver.receive(10, is_data, limit_s=5)) == 10
    assert s.daemon.ctl("pfc", "escape", "off")["changed"]
    s.wait_for(lambda: row(s.daemon, "h2")["paused"], what="the pause that runs obeyed")


def test_an_escape_file_that_cannot_be_read_counts_as_on(storm):
    s = storm()
    s.daemon.process.send_signal(signal.SIGTERM)
    s.daemon.process.wait()
    (Path("/run/lossless") / s.daemon.instance / "escape").write_text("nonsense\n")
    s.daemon.start()
    s.daemon.wait_ready()
    assert s.daemon.ctl("show", "pfc-watchdog")["escape"]
    assert "PFC stays off on all ports" in s.daemon.log.read_text()


def test_a_rate_alarm_is_raised_and_cleared(star, wire, wait_for):
    s = star(2)
    alarm = {"rx_raise_fps": 50, "rx_clear_fps": 20, "window_ms": 100, "hold_ms": 0}
    d = s.daemon(queues=QUEUES, port={"rate": RATE, "pfc_alarm": alarm})
    receiver = wire(s.ns["h2"], "eth0")

    def raised():
        receiver.send(*[pfc({OTHER_TC: 1})] * 50)
        return port_row(d, "h2")["rx_alarm"]
    wait_for(raised, what="the alarm raised")
    assert not port_row(d, "h1")["rx_alarm"] and not port_row(d, "h2")["tx_alarm"]
    wait_for(lambda: not port_row(d, "h2")["rx_alarm"], what="the alarm cleared")
    log = d.log.read_text()
    assert "PFC alarm raised on h2 (rx)" in log and "PFC alarm cleared on h2 (rx)" in log


def cpu_seconds(pid):
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_a_flood_of_frames_does_not_take_the_cpu(storm):
    """Frames that change nothing don't wake the daemon: it uses a small part of the flood's time."""
    s = storm()
    s.stop()
    s.wait_for(lambda: row(s.daemon, "h2")["paused"], what="the queue paused")
    frames = [bytes(pfc({TC: LONGEST}))] * 100_000
    used, began = cpu_seconds(s.daemon.process.pid), time.monotonic()
    s.receiver.send(*frames)
    took = time.monotonic() - began
    used = cpu_seconds(s.daemon.process.pid) - used
    state = row(s.daemon, "h2")
    assert int(state["rx_frames"]) == 100_001 and int(state["transitions"]) == 1
    assert used < took / 2, f"{used:.2f} s of CPU in {took:.2f} s of flood"


@pytest.mark.parametrize("table, words", [
    ({"detection_ms": 100, "poll_ms": 150}, ["poll interval 150 ms is longer than its detection time 100 ms"]),
    ({"detection_ms": 50}, ["watchdog.detection_ms", "100 to 5000"]),
    ({"action": "explode"}, ["watchdog.action", '"drop", "forward" or "alert"']),
])
def test_bad_settings_are_refused(star, table, words):
    s = star(1)
    d = s.daemon(queues=QUEUES, port={"rate": RATE, "watchdog": table}, start=False)
    d.start()
    assert d.process.wait(10) == 1
    for word in words:
        assert word in d.log.read_text()
