# SPDX-License-Identifier: Apache-2.0
"""The iNOF host agent against a switch made by scapy: announcements, ACKs, hooks as processes."""

import os
import socket
import struct

import pytest
from scapy.layers.l2 import Ether

from vethlab.namespaces import NamespaceError

SWITCH_MAC = "02:00:00:bb:00:01"
STATUS = "01:80:c2:00:00:0d"
DISK = "10.77.0.9"
OURS = "10.77.0.2"
DIALECTS = {
    "odcc": {"type": 0x88A7, "notify": 33, "ack": 34, "query": 35, "oui": b"\0\x18\x82\x65", "prefix": b"snsd_"},
    "china-mobile": {"type": 0x7777, "notify": 1, "ack": 2, "query": 3, "oui": b"\x5c\x75\xc6\x58",
                     "prefix": b"roce-san_"},
}
HOOK = """#!/bin/sh
printf '%s %s %s %s %s %s\\n' "$INOF_STATE" "$INOF_REASON" "$INOF_ADDRESS" "$INOF_LOCAL_ADDRESS" "$INOF_PORT" "$INOF_ID" >> {out}
"""


def ip_bytes(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


def sub(kind, value):
    return struct.pack("!BH", kind, len(value)) + value


def address(kind, text):
    return sub(kind + 2 * (":" in text), ip_bytes(text))


def notify(sequence, state=1, reason=0, subject=DISK, ours=OURS, dialect="odcc", nqn=b"", attached=None):
    if attached is None:
        attached = struct.pack("!BBHHB", 2, 1, 0, 4420, len(nqn)) + nqn
    parts = (address(1, subject) + address(2, ours) + sub(5, struct.pack("!I", sequence))
             + sub(6, struct.pack("!I", state)) + sub(7, struct.pack("!I", reason)) + sub(8, attached))
    return sub(DIALECTS[dialect]["notify"], parts)


def frame(*tlvs, dialect="odcc", dst=STATUS, version=1):
    body = b"".join(tlvs)
    return (bytes(Ether(src=SWITCH_MAC, dst=dst, type=DIALECTS[dialect]["type"]))
            + struct.pack("!BBHI", version, 0, len(body), 0) + body)


def acks(packet, dialect="odcc"):
    """[(subject, ours, sequence)] of an ACK frame."""
    body, out = bytes(packet)[14:], []
    length = struct.unpack("!H", body[2:4])[0]
    body = body[8:8 + length]
    while body:
        kind, size = struct.unpack("!BH", body[:3])
        assert kind == DIALECTS[dialect]["ack"]
        parts, body = body[3:3 + size], body[3 + size:]
        found = {}
        while parts:
            kind, size = struct.unpack("!BH", parts[:3])
            found[kind], parts = parts[3:3 + size], parts[3 + size:]
        text = [socket.inet_ntop(socket.AF_INET6 if len(v) == 16 else socket.AF_INET, v)
                for v in (found.get(1) or found[3], found.get(2) or found[4])]
        out.append((*text, struct.unpack("!I", found[5])[0]))
    return out


def is_status(dialect, kind):
    facts = DIALECTS[dialect]
    return lambda p: p.type == facts["type"] and bytes(p)[22] == facts[kind]


class Host:
    """A host with one port `eth0` and the other end of the wire, where its switch would be."""

    def __init__(self, sandbox, wire, wait_for):
        self.sandbox, self.wait_for = sandbox, wait_for
        self.ns, self.peer = sandbox.netns("host"), sandbox.netns("sw")
        sandbox.veth((self.ns, "eth0", "02:00:00:aa:00:02"), (self.peer, "swp", SWITCH_MAC))
        sandbox.run(self.ns, "ip", "addr", "add", OURS + "/24", "dev", "eth0")
        self.wire = wire(self.peer, "swp")
        self.out = sandbox.path / "hook.out"
        self.daemon = None

    def script(self, text, name="hook"):
        path = self.sandbox.path / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def start(self, **settings):
        settings = {"hook": "program", "program": self.script(HOOK.format(out=self.out)), **settings}
        self.tables = {"": {"role": "host"}, "inof_host": settings}
        self.daemon = self.sandbox.daemon(self.ns, ["eth0"], name="host", tables=self.tables)

    def state(self):
        return self.daemon.ctl("show", "inof-host")

    def member(self, subject=DISK):
        return next((m for m in self.state()["members"] if m["address"] == subject), None)

    def lines(self):
        return self.out.read_text().splitlines() if self.out.exists() else []

    def count(self, key):
        return int(self.state()["statistics"][key])


@pytest.fixture
def host(sandbox, wire, wait_for):
    return Host(sandbox, wire, wait_for)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_announcement_query_and_event(host, dialect):
    facts = DIALECTS[dialect]
    host.start(dialect=dialect, id="nqn.2024-01.org:h")
    seen = host.wire.receive(2, lambda p: p.type in (0x88CC, facts["type"]))
    body = bytes(seen[0])
    assert seen[0].type == 0x88CC and facts["prefix"] + b"eth0_01" in body
    tail = struct.pack("!BBHHB", 1, 1, 0x0101, 0, 17) + b"nqn.2024-01.org:h"
    assert facts["oui"] + b"\1\x81\0\0" + ip_bytes(OURS) + bytes(12) + tail in body
    assert is_status(dialect, "query")(seen[1]) and seen[1].dst == STATUS
    host.wire.send(frame(notify(5, dialect=dialect, nqn=b"nqn.disk"), dialect=dialect))
    answer = host.wire.receive(1, is_status(dialect, "ack"))
    assert acks(answer[0], dialect) == [(DISK, OURS, 5)] and answer[0].dst == STATUS
    host.wait_for(lambda: host.lines() == [f"online normal {DISK} {OURS} eth0 nqn.disk"], what="the hook")
    host.wire.send(frame(notify(6, state=0, reason=1, dialect=dialect), dialect=dialect))
    host.wait_for(lambda: len(host.lines()) == 2, what="the hook for offline")
    assert host.lines()[1].startswith("offline link-down")
    host.wait_for(lambda: host.member()["hook"] == "done", what="the end of the hook")
    assert host.member()["state"] == "offline" and host.member()["hook_result"] == "exit 0"
    text = host.daemon.run_ctl("show", "inof-host").stdout
    assert DISK in text and "offline" in text and facts["prefix"].decode() in text
    events = host.state()["events"]
    assert [(e["sequence"], e["state"]) for e in events] == [(6, "offline"), (5, "online")]


def test_repeated_and_batched_messages(host):
    host.start()
    both = frame(notify(7), notify(8, subject="10.77.0.10"))
    host.wire.send(both, both)
    answers = host.wire.receive(2, is_status("odcc", "ack"))
    assert [acks(a) for a in answers] == [[(DISK, OURS, 7), ("10.77.0.10", OURS, 8)]] * 2
    host.wait_for(lambda: len(host.lines()) == 2 and host.count("duplicates") == 2, what="hooks and counters")


def test_what_is_not_answered(host):
    host.start()
    good = notify(9)
    bad = [frame(good, version=2), frame(good, version=0), frame(good, dst="02:00:00:aa:00:02"),
           frame(good)[:16] + b"\0\0" + frame(good)[18:], frame(good)[:-1], frame(good[:-5]),
           frame(notify(9, ours="10.77.0.3")), frame(notify(9, dialect="china-mobile"), dialect="china-mobile"),
           frame(notify(9, dialect="china-mobile"))]
    host.wire.send(*bad)
    host.wire.send(frame(notify(10)))  # the only one
    answers = host.wire.receive(2, is_status("odcc", "ack"), limit_s=2)
    assert [acks(a) for a in answers] == [[(DISK, OURS, 10)]]
    assert host.count("malformed") == 6 and host.count("not_for_us") == 1 and host.count("other_dialect") == 1


def add_link(sandbox, ns, *words):
    """`ip link add`; skips the test when this kernel has no such kind of device."""
    try:
        sandbox.run(ns, "ip", "link", "add", *words)
    except NamespaceError as e:
        if "Unknown device type" not in str(e):
            raise
        pytest.skip(f"kernel without {words[words.index('type') + 1]} devices")


def announced(host):
    return {a["address"]: (a["port"], a["port_id"]) for a in host.state()["addresses"]}


def test_addresses_of_both_families_come_and_go(host, sandbox):
    sandbox.run(host.ns, "sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
    sandbox.run(host.ns, "ip", "addr", "add", "fd00:77::2/64", "dev", "eth0", "nodad")
    host.start()
    assert announced(host) == {OURS: ("eth0", "snsd_eth0_01"), "fd00:77::2": ("eth0", "snsd_eth0_02")}
    host.wire.send(frame(notify(1, subject="fd00:77::9", ours="fd00:77::2")))
    assert acks(host.wire.receive(1, is_status("odcc", "ack"))[0]) == [("fd00:77::9", "fd00:77::2", 1)]
    # One that goes is withdrawn at once, one that comes is announced with the number that became free.
    sandbox.run(host.ns, "ip", "addr", "del", OURS + "/24", "dev", "eth0")
    shutdown = b"snsd_eth0_01\x06\x02\0\0"
    assert host.wire.receive(1, lambda p: p.type == 0x88CC and shutdown in bytes(p)), "no TTL 0"
    sandbox.run(host.ns, "ip", "addr", "add", "10.78.0.5/24", "dev", "eth0")
    new = ip_bytes("10.78.0.5")
    assert host.wire.receive(1, lambda p: p.type == 0x88CC and new in bytes(p)), "not announced"
    assert announced(host)["10.78.0.5"] == ("eth0", "snsd_eth0_01")


def test_address_of_a_vlan_goes_out_untagged(host, sandbox):
    add_link(sandbox, host.ns, "link", "eth0", "name", "eth0.100", "type", "vlan", "id", "100")
    sandbox.run(host.ns, "ip", "link", "set", "eth0.100", "up")
    sandbox.run(host.ns, "ip", "addr", "add", "10.78.0.2/24", "dev", "eth0.100")
    host.start()
    assert announced(host)["10.78.0.2"] == ("eth0", "snsd_eth0.100_01")
    assert host.wire.receive(1, lambda p: p.type == 0x88CC and b"snsd_eth0.100_01" in bytes(p))
    host.wire.send(frame(notify(1, ours="10.78.0.2")))
    assert acks(host.wire.receive(1, is_status("odcc", "ack"))[0]) == [(DISK, "10.78.0.2", 1)]


def test_address_of_a_bridge_goes_out_of_each_of_its_ports(sandbox, wire):
    ns, peer = sandbox.netns("bridged"), sandbox.netns("brsw")
    for i in (1, 2):
        sandbox.veth((ns, f"p{i}", ""), (peer, f"sw{i}", ""))
    sandbox.bridge(ns, ["p1", "p2"])
    sandbox.run(ns, "ip", "addr", "add", OURS + "/24", "dev", "br0")
    wires = [wire(peer, f"sw{i}") for i in (1, 2)]
    d = sandbox.daemon(ns, ["p1", "p2"], name="bridged",
                       tables={"": {"role": "host"}, "inof_host": {"hook": "none"}})
    for w in wires:
        assert w.receive(1, lambda p: p.type == 0x88CC and b"snsd_br0_01" in bytes(p))
        w.send(frame(notify(3)))
        assert acks(w.receive(1, is_status("odcc", "ack"))[0]) == [(DISK, OURS, 3)]
    assert {m["port"] for m in d.ctl("show", "inof-host")["members"]} == {"p1", "p2"}


def test_bond_announces_on_each_of_its_ports(sandbox, wire):
    ns = sandbox.netns("bonded")
    peer = sandbox.netns("bsw")
    wires = []
    for i in (1, 2):
        sandbox.veth((ns, f"p{i}", ""), (peer, f"sw{i}", ""))
    add_link(sandbox, ns, "bond0", "type", "bond", "mode", "active-backup")
    for i in (1, 2):
        sandbox.run(ns, "ip", "link", "set", f"p{i}", "down")
        sandbox.run(ns, "ip", "link", "set", f"p{i}", "master", "bond0")
        sandbox.run(ns, "ip", "link", "set", f"p{i}", "up")
    sandbox.run(ns, "ip", "link", "set", "bond0", "up")
    sandbox.run(ns, "ip", "addr", "add", OURS + "/24", "dev", "bond0")
    wires = [wire(peer, f"sw{i}") for i in (1, 2)]
    d = sandbox.daemon(ns, ["p1", "p2"], name="bonded",
                       tables={"": {"role": "host"}, "inof_host": {"hook": "none"}})
    for w in wires:
        assert w.receive(1, lambda p: p.type == 0x88CC and b"snsd_bond0_01" in bytes(p))
        w.send(frame(notify(3)))
        assert acks(w.receive(1, is_status("odcc", "ack"))[0]) == [(DISK, OURS, 3)]
    assert {m["port"] for m in d.ctl("show", "inof-host")["members"]} == {"p1", "p2"}


def test_hook_that_fails_is_tried_again(host):
    script = host.script(f"#!/bin/sh\necho try >> {host.out}\necho no way >&2\nexit 3\n", "failing")
    host.start(program=script, hook_retries=1, hook_backoff_s=1)
    host.wire.send(frame(notify(1)))
    host.wait_for(lambda: (host.member() or {}).get("hook") == "failed", limit_s=20, what="the hook given up")
    assert host.lines() == ["try", "try"] and host.member()["hook_result"] == "exit 3: no way"
    assert host.count("hooks_failed") == 2 and host.count("hooks_given_up") == 1


def test_hook_that_hangs_is_killed_with_its_children(host):
    pids = host.sandbox.path / "pids"
    script = host.script(f"#!/bin/sh\nsleep 1000 &\necho $$ $! >> {pids}\nwait\n", "hanging")
    host.start(program=script, hook_timeout_s=1, hook_retries=0)
    host.wire.send(frame(notify(1)))
    host.wait_for(lambda: (host.member() or {}).get("hook") == "failed", limit_s=20, what="the hook killed")
    assert host.count("hooks_killed") == 1 and "killed after 1 s" in host.member()["hook_result"]
    for pid in pids.read_text().split():
        host.wait_for(lambda pid=pid: not os.path.exists(f"/proc/{pid}")
                      or " Z " in open(f"/proc/{pid}/stat").read(), what=f"process {pid} gone")


def test_hook_program_that_is_not_there(host):
    host.start(program="/nonexistent/hook", hook_retries=0)
    host.wire.send(frame(notify(1)))
    host.wait_for(lambda: (host.member() or {}).get("hook") == "failed", what="the hook given up")
    assert "No such file" in host.member()["hook_result"]


def test_offline_stops_a_connect_that_hangs(host):
    argv = host.sandbox.path / "argv"
    nvme = host.script(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {argv}\nexec sleep 1000\n', "nvme")
    host.start(hook="nvme", nvme=nvme, program="")
    host.wire.send(frame(notify(1, nqn=b"nqn.2024-01.org:disk;reboot")))
    host.wait_for(lambda: argv.exists() and argv.read_text(), what="nvme connect")
    assert argv.read_text().split() == ["connect", "--transport=rdma", f"--traddr={DISK}", "--trsvcid=4420",
                                        f"--host-traddr={OURS}", "--nqn=nqn.2024-01.org:disk;reboot"]
    host.wire.send(frame(notify(2, state=0, reason=6)))
    host.wait_for(lambda: host.member()["state"] == "offline" and host.member()["hook"] == "done", limit_s=10,
                  what="offline done although the connect hangs")
    assert host.member()["hook_result"] == "exit 0: nothing to do"  # no controller to disconnect


def test_link_down_and_up_announces_and_queries_again(host, sandbox):
    host.start(hook="none")
    assert host.wire.receive(1, is_status("odcc", "query"))
    sandbox.run(host.peer, "ip", "link", "set", "swp", "down")
    host.wait_for(lambda: not host.state()["addresses"][0]["up"], what="the link down")
    sandbox.run(host.peer, "ip", "link", "set", "swp", "up")
    host.wait_for(lambda: int(host.state()["addresses"][0]["queries"]) == 2, what="the second query")


def test_end_of_the_daemon_withdraws_nothing_and_role_switch_does(host):
    host.start(hook="none")
    assert host.wire.receive(1, lambda p: p.type == 0x88CC)
    host.tables[""]["role"] = "switch"
    host.daemon.configure({}, [{"name": "eth0"}], tables=host.tables)
    assert host.daemon.run_ctl("reload").returncode == 0
    assert host.wire.receive(1, lambda p: p.type == 0x88CC and b"\x06\x02\0\0" in bytes(p)), "no TTL 0"
    assert "is off" in host.daemon.run_ctl("show", "inof-host").stdout
    host.tables[""]["role"] = "host"
    host.daemon.configure({}, [{"name": "eth0"}], tables=host.tables)
    host.daemon.run_ctl("reload")
    assert host.wire.receive(1, lambda p: p.type == 0x88CC and b"\x06\x02\0\x78" in bytes(p))
    host.daemon.process.terminate()
    host.daemon.process.wait(20)
    assert not host.wire.receive(1, lambda p: p.type == 0x88CC and b"\x06\x02\0\0" in bytes(p), limit_s=0.5)
