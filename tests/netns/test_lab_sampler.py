# SPDX-License-Identifier: Apache-2.0
"""lab-sampler against tc: the depth and counters of a leaf that is held shut, and ports that come and go."""

import contextlib
import json
import subprocess

import pytest

from vethlab import processes, samples

FRAME = bytes.fromhex("020000000002" "020000000001" "88b5") + bytes(986)  # 1,000 bytes
LIMIT = 20_000


@pytest.fixture
def gated(sandbox):
    """A port `p` whose TC 3 holds everything: (namespace, interface of the sender's side)."""
    netns, far = sandbox.netns("sw"), sandbox.netns("far")
    sandbox.veth((netns, "p", ""), (far, "q", ""))
    make_tree(sandbox, netns)
    return netns


def make_tree(sandbox, netns):
    sandbox.run(netns, "tc", "qdisc", "add", "dev", "p", "root", "handle", "4c00:", "htb", "default", "4")
    sandbox.run(netns, "tc", "class", "add", "dev", "p", "parent", "4c00:", "classid", "4c00:4", "htb", "rate", "1gbit")
    sandbox.run(netns, "tc", "qdisc", "add", "dev", "p", "parent", "4c00:4", "handle", "4c04:", "tbf",
                "rate", "8bit", "burst", "1600", "limit", str(LIMIT))


def leaf(sandbox, netns):
    shown = json.loads(sandbox.run(netns, "tc", "-s", "-j", "qdisc", "show", "dev", "p"))
    return next(q for q in shown if q.get("handle") == "4c04:")


@pytest.fixture
def sampler(sandbox, tools):
    def start(netns, *queues):
        out = sandbox.path / "queue.csv"
        words = [w for q in queues for w in ("--queue", q)]
        process = sandbox.spawn([tools.path("lab-sampler"), "--netns", netns, *words, "--out", out],
                                log="sampler.log")
        return process, out
    return start


def test_depth_and_drops_are_those_of_tc(sandbox, gated, sampler, wire, wait_for):
    process, out = sampler(gated, "p:3")
    wait_for(out.exists, what="sampler started")
    w = wire(gated, "p")
    for _ in range(30):
        with contextlib.suppress(OSError):  # ENOBUFS: the sender is told of a drop in its own queue
            w.send(FRAME)
    shown = leaf(sandbox, gated)
    assert shown["drops"] > 0 and 0 < shown["backlog"] <= LIMIT
    # The leaf is shut and the sampler takes a last sample when it is told to stop.
    assert processes.stop(process) == 0
    last = samples.read_queue(out, "p", 3)[-1]
    assert (last.backlog_bytes, last.dropped_packets, last.sent_packets) == (
        shown["backlog"], shown["drops"], shown["packets"])


def test_a_port_that_goes_and_comes_back(sandbox, gated, sampler, wire, wait_for):
    process, out = sampler(gated, "p:3", "absent:0")
    wait_for(out.exists, what="sampler started")
    sandbox.run(gated, "ip", "link", "del", "dev", "p")
    far = gated.removesuffix("sw") + "far"
    sandbox.veth((gated, "p", ""), (far, "q", ""))
    make_tree(sandbox, gated)
    wire(gated, "p").send(*[FRAME] * 5)
    shown = leaf(sandbox, gated)
    assert processes.stop(process) == 0
    assert samples.read_queue(out, "p", 3)[-1].backlog_bytes == shown["backlog"] > 0
    assert samples.read_queue(out, "absent", 0) == []


@pytest.mark.parametrize("netns, queue, complaint", [
    (None, "p", "queue 'p': must be PORT:TC"),
    (None, "p:8", "queue 'p:8': must be PORT:TC"),
    (None, ":3", "queue ':3': must be PORT:TC"),
    (None, "p:3x", "queue 'p:3x': must be PORT:TC"),
    ("ll-nowhere", "p:3", "/run/netns/ll-nowhere: No such file"),
])
def test_bad_arguments(sandbox, tools, netns, queue, complaint):
    done = subprocess.run([tools.path("lab-sampler"), "--netns", netns or sandbox.netns("x"), "--queue", queue,
                           "--out", sandbox.path / "out.csv"], text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert complaint in done.stderr
