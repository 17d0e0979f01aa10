# SPDX-License-Identifier: Apache-2.0
"""Queues that a peer stopped while losslessd ended: they go on when the pause is over, daemon or not."""

import os
import signal
import subprocess

import pytest

from test_pfc import LONGEST, QUEUES, TC, data, is_data, pfc, row


def stop_queue(star, daemon, wires, wait_for):
    """Stops the queue of h2 for 3.4 s and puts ten frames into it."""
    sender, receiver = wires
    receiver.send(pfc({TC: LONGEST}))
    wait_for(lambda: row(daemon, "h2")["paused"], what="the queue paused")
    sender.send(*[data(star, TC) for _ in range(10)])


def kill(daemon):
    os.kill(daemon.process.pid, signal.SIGKILL)
    daemon.process.wait()


def stop(daemon):
    daemon.process.terminate()
    daemon.process.wait(timeout=10)


@pytest.fixture
def switch(star, wire):
    s = star(2)
    d = s.daemon(queues=QUEUES, port={"rate": "10mbit"})
    return s, d, (wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0"))


@pytest.mark.parametrize("end", [kill, stop], ids=["killed", "stopped"])
def test_traffic_goes_on_when_the_pause_is_over(switch, wait_for, end):
    s, d, wires = switch
    stop_queue(s, d, wires, wait_for)
    end(d)
    got = wires[1].receive(10, is_data, limit_s=1)
    assert len(got) <= 1, "the pause of the peer is kept to"
    assert len(wires[1].receive(10 - len(got), is_data, limit_s=20)) == 10 - len(got)
    wires[0].send(*[data(s, TC) for _ in range(10)])
    assert len(wires[1].receive(10, is_data, limit_s=5)) == 10
    d.start()
    d.wait_ready()
    state = row(d, "h2")
    assert not state["paused"] and 3000 <= int(state["paused_ms"]) < 3600, "the guard ended the pause in the rows too"


def test_a_new_daemon_takes_the_pause_over(switch, wait_for):
    s, d, wires = switch
    stop_queue(s, d, wires, wait_for)
    kill(d)
    d.start()
    d.wait_ready()
    wires[1].send(pfc({TC: LONGEST}))  # longer than the guard of the dead one would wait
    received = len(wires[1].receive(10, is_data, limit_s=0.5))
    assert received <= 1 and row(d, "h2")["paused"]
    # The old guard has given up by the time that it would have opened.
    wait_for(lambda: "opened" not in d.log.read_text() and row(d, "h2")["paused"], what="still paused")
    wires[1].send(pfc({TC: 0}))
    assert len(wires[1].receive(10 - received, is_data, limit_s=5)) == 10 - received
    assert "opened" not in d.log.read_text()


def test_open_gates_by_command(switch, tools, wait_for):
    """As a service manager does that ends the guard with the daemon."""
    s, d, wires = switch
    stop_queue(s, d, wires, wait_for)
    command = ["nsenter", f"--net=/run/netns/{s.switch}", tools.path("losslessd"), "--config", d.config, "--open-gates"]
    assert subprocess.run(command, timeout=10, check=False).returncode == 0
    assert row(d, "h2")["paused"], "a running daemon's gates are its own"
    children = subprocess.run(["ps", "--ppid", str(d.process.pid), "-o", "pid=,comm="], capture_output=True, text=True,
                              check=True).stdout.split()
    assert children[1::2] == ["lossless-guard"]
    os.kill(int(children[0]), signal.SIGKILL)
    kill(d)
    assert subprocess.run(command, timeout=20, check=False).returncode == 0
    assert len(wires[1].receive(10, is_data, limit_s=5)) == 10
