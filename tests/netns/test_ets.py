# SPDX-License-Identifier: Apache-2.0
"""ETS in software: strict TCs first, WRR groups by their shares, what one leaves to the others."""

import socket
import statistics
import struct

import pytest
from test_ports import frame, queues

from vethlab.namespaces import in_namespace

SO_TIMESTAMPNS = 35
ETH_P_ALL = 3
RATE_MBIT = 20
SIZE = 1000


def shares_config(shares):
    """Queue tables: the given percentages by TC in one group, all others strict."""
    return {str(tc): {"schedule": "wrr", "group": 1, "weight": shares[tc], "limit": "5MB"} if tc in shares
            else {"schedule": "strict"} for tc in range(8)}


def fill(star, sender, counts):
    """Sends `counts[tc]` frames of each TC, mixed."""
    frames = {tc: bytes(frame(star, "h1", "h2", dscp=tc * 8, size=SIZE)) for tc in counts}
    most = max(counts.values())
    sender.send(*[frames[tc] for i in range(most) for tc in counts if i < counts[tc]])


def sent_while_all_wait(daemon, wait_for, tcs, frames):
    """Bytes that each TC sent while every one of them had something waiting, `frames` in all."""
    begin = {tc: int(q["sent_bytes"]) for tc, q in queues(daemon, "h2").items()}
    last = {}

    def enough():
        now = queues(daemon, "h2")
        assert all(int(now[tc]["backlog_bytes"]) > 0 for tc in tcs), "a queue ran empty too early"
        last.update({tc: int(now[tc]["sent_bytes"]) - begin[tc] for tc in tcs})
        return sum(last.values()) > frames * SIZE
    wait_for(enough, limit_s=30, what=f"{frames} frames sent")
    return last


@pytest.mark.parametrize("shares", [{0: 30, 3: 70}, {1: 20, 2: 30, 3: 50},
                                    {0: 5, 1: 5, 2: 5, 3: 10, 4: 10, 5: 15, 6: 20, 7: 30}], ids=["2", "3", "8"])
def test_shares_are_within_three_points(star, wire, wait_for, shares):
    s = star(2)
    daemon = s.daemon(port={"rate": f"{RATE_MBIT}mbit", "weights": "percent"}, queues=shares_config(shares))
    shown = {row["tc"]: row for row in daemon.ctl("show", "ets", "h2")["classes"]}
    assert {tc: shown[tc]["share"] for tc in shares} == shares
    fill(s, wire(s.ns["h1"], "eth0"), {tc: 400 + 4000 * share // 100 for tc, share in shares.items()})
    sent = sent_while_all_wait(daemon, wait_for, shares, 1500)
    total = sum(sent.values())
    measured = {tc: 100 * sent[tc] / total for tc in shares}
    print(measured)
    for tc, share in shares.items():
        assert abs(measured[tc] - share) < 3, f"TC {tc} has {measured[tc]:.1f} % instead of {share} %: {measured}"


def test_a_maximum_holds_and_the_rest_goes_to_the_others(star, wire, wait_for):
    """TC 3 has half of the group, and at most a fifth of the port."""
    s = star(2)
    queues_of = shares_config({1: 50, 3: 50})
    queues_of["3"]["max_rate"] = f"{RATE_MBIT // 5}mbit"
    daemon = s.daemon(port={"rate": f"{RATE_MBIT}mbit", "weights": "percent"}, queues=queues_of)
    fill(s, wire(s.ns["h1"], "eth0"), {1: 3500, 3: 1500})
    sent = sent_while_all_wait(daemon, wait_for, (1, 3), 1500)
    assert abs(100 * sent[3] / sum(sent.values()) - 20) < 3, sent


def test_what_one_leaves_goes_to_the_others(star, wire, wait_for):
    """TC 2 has half of the group and sends nothing: the others share all of it, 1:4."""
    s = star(2)
    daemon = s.daemon(port={"rate": f"{RATE_MBIT}mbit", "weights": "percent"},
                      queues=shares_config({1: 10, 2: 50, 3: 40}))
    fill(s, wire(s.ns["h1"], "eth0"), {1: 1500, 3: 3500})
    sent = sent_while_all_wait(daemon, wait_for, (1, 3), 1500)
    assert abs(100 * sent[3] / sum(sent.values()) - 80) < 3, sent


def stamped(netns, dev):
    """A packet socket that says when the kernel had each packet."""
    def make():
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        s.setsockopt(263, 23, 1)  # PACKET_IGNORE_OUTGOING
        s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
        s.bind((dev, 0))
        return s
    return in_namespace(netns, make)


def read_times(sock, count, beside=0, limit_s=30.0):
    """Number in the payload's last four bytes -> ns, of `count` frames of TC 6; and the times of all others, of which
    there must be `beside`."""
    strict, others = {}, []
    sock.settimeout(limit_s)
    while len(strict) < count or len(others) < beside:
        data, ancillary, _, _ = sock.recvmsg(2048, 256)
        seconds, ns = next(struct.unpack("qq", d[:16]) for level, kind, d in ancillary if kind == SO_TIMESTAMPNS)
        if data[15] >> 2 == 48:
            strict[struct.unpack("!I", data[-4:])[0]] = seconds * 10**9 + ns
        elif len(data) == SIZE:
            others.append(seconds * 10**9 + ns)
    return strict, others


def delays(star, sender, numbers, beside=0):
    """Time that each strict packet spends in the switch, ns, and the times of the others at the receiver. Between two
    strict packets there are `beside` others: strict ones without a pause would leave them nothing."""
    before, after = stamped(star.switch, "h1"), stamped(star.ns["h2"], "eth0")
    base = bytes(frame(star, "h1", "h2", dscp=48, size=200))
    seen = {}
    try:
        for number in numbers:  # each on its own: they must not wait for one another
            sender.send(base[:-4] + struct.pack("!I", number))
            strict, others = read_times(after, 1, beside)
            seen.update(strict)
            seen.setdefault("others", []).extend(others)
        entered, _ = read_times(before, len(numbers))
    finally:
        before.close()
        after.close()
    others = seen.pop("others")
    return sorted(seen[n] - entered[n] for n in numbers), others


def test_strict_packets_do_not_wait_for_the_others(star, wire):
    s = star(2)
    daemon = s.daemon(port={"rate": "5mbit"}, queues={**shares_config({1: 50, 2: 50}), "6": {"schedule": "strict"}})
    sender = wire(s.ns["h1"], "eth0")
    idle, _ = delays(s, sender, range(100))
    fill(s, sender, {1: 2000, 2: 2000})
    busy, others = delays(s, sender, range(100, 200), beside=2)
    assert int(queues(daemon, "h2")[1]["backlog_bytes"]) > 0, "the others waited all the time"
    packet_ns = statistics.median(b - a for a, b in zip(others, others[1:]))
    added = busy[98] - statistics.median(idle)
    print(f"p99 {busy[98] / packet_ns:.2f} packet times, {idle[98] / packet_ns:.2f} when idle")
    assert added <= 2 * packet_ns, f"{added / packet_ns:.1f} packet times at the 99th percentile"
