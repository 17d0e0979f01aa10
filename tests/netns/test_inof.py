# SPDX-License-Identifier: Apache-2.0
"""The iNOF switch on real ports: hosts in both dialects and both IP versions come, go, lie, and are kept apart."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from test_pfc import LONGEST, QUEUES, RATE, TC, data, pfc
from test_pfc_watchdog import QUICK
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from vethlab import inof_frames as frames
from vethlab.inof_hosts import Crowd, InofHost
from vethlab.switchd import DaemonError

FAMILIES = {4: "10.77.0.{}", 6: "fd00:77::{}"}
OFF = {"keep_changes": False}


class Net:
    """Hosts of a star, their daemon with iNOF on, and what they were told."""

    def __init__(self, star, hosts=3, dialect="odcc", family=4, inof=None, roles=None, **daemon):
        self.star, self.family = star(hosts), family
        self.daemon = self.star.daemon(tables={"lldp": {"enabled": True}, "inof": {"on": True, **OFF, **(inof or {})}},
                                       **daemon)
        dialects = [frames.DIALECTS[d] for d in ([dialect] * hosts if isinstance(dialect, str) else dialect)]
        self.crowd = Crowd([InofHost(h, self.star.ns[h], "eth0", self.star.mac(h), self.address(h), dialects[i],
                                     (roles or {}).get(h, frames.SERVER)) for i, h in enumerate(self.star.hosts)])

    def __getitem__(self, host):
        return self.crowd.hosts[host]

    def address(self, host):
        return FAMILIES[self.family].format(self.star.hosts.index(host) + 1)

    def state(self, host):
        try:
            return self.daemon.ctl("show", "inof", "host", self.address(host))["hosts"][0]["state"]
        except DaemonError:
            return "unknown"

    def told(self, host, count, limit_s=5.0):
        """The next `count` notifications of a host, in words."""
        def have():
            return [t for t in self.crowd.told if t.host == host]
        self.crowd.pump(limit_s, lambda: len(have()) >= count)
        got = have()
        self.crowd.told = [t for t in self.crowd.told if t.host != host]
        return [(t.message.subject, "online" if t.message.online else "offline", frames.REASONS[t.message.reason])
                for t in got]

    def join(self, *hosts):
        for host in hosts or self.star.hosts:
            self[host].announce()
            wait(lambda h=host: self.crowd.pump(0.05) or self.state(h) == "online", f"{host} online")
        self.crowd.pump(1, lambda: self.settled())
        self.crowd.take()

    def settled(self):
        return self.daemon.ctl("show", "inof", "status")["under_way"] == 0

    def counters(self):
        return self.daemon.ctl("show", "inof", "statistics")


def wait(condition, what, limit_s=10):
    from vethlab.waiting import wait_for
    return wait_for(condition, limit_s, what)


@pytest.fixture
def net(star, request):
    def make(*args, **more):
        made = Net(star, *args, **more)
        request.addfinalizer(made.crowd.close)
        return made
    return make


KINDS = pytest.mark.parametrize("dialect, family", [("odcc", 4), ("odcc", 6), ("china-mobile", 4), ("china-mobile", 6)])


@KINDS
def test_join_and_each_cause_of_a_leave(net, sandbox, dialect, family):
    n = net(2, dialect, family, inof={"age": 3, "retransmit_ms": 500})
    h1, h2 = n["h1"], n["h2"]
    h1.announce()
    wait(lambda: n.state("h1") == "online", "h1 online")
    h2.announce()
    a1, a2 = n.address("h1"), n.address("h2")
    assert n.told("h1", 1) == [(a2, "online", "normal")]
    assert n.told("h2", 1) == [(a1, "online", "normal")]

    h2.announce(ttl=0)
    assert n.told("h1", 1) == [(a2, "offline", "normal")]
    h2.announce()
    assert n.told("h1", 1) == [(a2, "online", "normal")]

    sandbox.run(n.star.ns["h2"], "ip", "link", "set", "eth0", "down")
    assert n.told("h1", 1) == [(a2, "offline", "link-down")]
    sandbox.run(n.star.ns["h2"], "ip", "link", "set", "eth0", "up")
    wait(lambda: n.daemon.ctl("show", "ports", "h2")["ports"][0]["link_up"], "the link")
    h1.announce()  # or it would age meanwhile
    h2.announce()
    assert n.told("h1", 1) == [(a2, "online", "normal")]
    n.told("h2", 2, 0.2)

    old, h2.address = h2.address, FAMILIES[family].format(99)
    h2.announce()
    assert n.told("h1", 2) == [(old, "offline", "address-changed"), (h2.address, "online", "normal")]

    for _ in range(4):  # h1 stays, h2 is silent
        h1.announce()
        if got := n.told("h1", 1, 1):
            break
    assert got == [(h2.address, "offline", "lldp-timeout")]
    assert int(n.counters()["joined"]) == 5


def test_hosts_of_both_dialects_and_families_meet(net):
    n = net(3, ["odcc", "china-mobile", "odcc"])
    n["h3"].address = "fd00:77::3"
    n["h1"].announce()
    wait(lambda: n.state("h1") == "online", "h1 online")
    n["h2"].announce()
    assert n.told("h1", 1) == [(n.address("h2"), "online", "normal")]
    n["h3"].announce()
    assert n.told("h1", 1) == [("fd00:77::3", "online", "normal")]
    assert sorted(n.told("h3", 2)) == sorted([(n.address(h), "online", "normal") for h in ("h1", "h2")])


def test_the_notification_is_the_one_that_hosts_accept(net, wire):
    """Byte for byte but for MAC addresses, as a host program was seen to accept it."""
    n = net(2)
    n["h1"].address, n["h2"].address = "10.77.0.2", "10.77.0.9"
    watch = wire(n.star.ns["h1"], "eth0")
    n["h1"].announce()
    wait(lambda: n.daemon.ctl("show", "inof", "status")["online"] == 1, "h1 online")
    n["h2"].announce(nqn=b"")
    frame = watch.receive(1, lambda p: p.type == 0x88A7)[0]
    assert bytes(frame)[:6].hex() == "0180c200000d"
    assert bytes(frame)[12:75].hex() == ("88a70100003000000000" "21002d" "0100040a4d0009" "0200040a4d0002"
                                        "05000400000001" "06000400000001" "07000400000000" "080007" "01010101000000"), "attached: the tail of the TLV"


@KINDS
def test_zone_changes_are_told_to_both_sides(net, dialect, family):
    n = net(3, dialect, family)
    n.join()
    a1, a2, a3 = (n.address(h) for h in n.star.hosts)
    assert n.daemon.run_ctl("zone", "add", "z1").returncode == 0
    n.daemon.ctl("zone", "host", "add", "z1", a1)
    assert sorted(n.told("h1", 2)) == [(a2, "offline", "removed-from-zone"), (a3, "offline", "removed-from-zone")]
    assert n.told("h2", 1) == [(a1, "offline", "removed-from-zone")]
    n.told("h3", 1)
    n.daemon.ctl("zone", "host", "add", "z1", f"{a2}-{a3}")
    assert sorted(n.told("h1", 2)) == [(a2, "online", "normal"), (a3, "online", "normal")]
    assert n.told("h2", 1) == [(a1, "online", "normal")], "h2 and h3 stayed together"
    n.daemon.ctl("zone", "remove", "z1")
    n.daemon.ctl("default-zone", "off")
    assert sorted(n.told("h1", 2)) == [(a2, "offline", "removed-from-zone"), (a3, "offline", "removed-from-zone")]


def test_query_zone_and_full_state(net):
    n = net(3)
    n.join()
    h1 = n["h1"]
    h1.socket.send(frames.query(frames.mac_bytes(h1.mac), h1.dialect, h1.address))
    assert sorted(n.told("h1", 2)) == [(n.address("h2"), "online", "normal"), (n.address("h3"), "online", "normal")]
    h1.socket.send(frames.query(frames.mac_bytes(h1.mac), h1.dialect, n.address("h2")))
    wait(lambda: int(n.counters()["queries_unknown"]) == 1, "the query for another counted")


def test_acks_that_acknowledge_nothing(net):
    n = net(3, inof={"retransmit_ms": 200, "retransmit_limit": 2})
    n.join("h1", "h2")
    h1, h2 = n["h1"], n["h2"]
    h1.acknowledges = False
    before = int(n.counters()["total"]["acked"])
    n["h3"].announce()
    n.crowd.pump(5, lambda: any(t.host == "h1" for t in n.crowd.told))
    real = next(t.message for t in n.crowd.told if t.host == "h1")

    def lie(sender, **more):
        message = frames.Notification(**{**real.__dict__, **more})
        n[sender].socket.send(frames.ack(frames.mac_bytes(n[sender].mac), n[sender].dialect, [message]))

    lie("h2")
    lie("h1", sequence=real.sequence + 7)
    lie("h1", subject="10.77.0.200")
    lie("h1", notified="10.77.0.201")
    wait(lambda: [int(n.counters()[f"acks_{k}"]) for k in ("wrong_port", "wrong_sequence", "not_asked")] == [1, 2, 1],
         "bad ACKs counted by kind")
    n.crowd.pump(5, lambda: int(n.counters()["total"]["expired"]) == 1)
    counters = n.counters()
    assert int(counters["total"]["expired"]) == 1
    row = next(h for h in counters["hosts"] if h["address"] == h1.address)
    assert (int(row["retransmitted"]), int(row["expired"])) == (2, 1)
    assert int(counters["total"]["acked"]) - before == 3, "h2 and h3 had theirs"
    assert h2.acknowledges


def test_an_address_claimed_twice(net, sandbox):
    n = net(3)
    n.join("h1", "h2")
    n["h3"].address = n.address("h1")
    n["h3"].announce()
    wait(lambda: len(n.daemon.ctl("show", "inof", "host", n.address("h1"))["hosts"]) == 2, "both shown")
    rows = {h["port"]: h for h in n.daemon.ctl("show", "inof", "host", n.address("h1"))["hosts"]}
    assert rows["h1"]["state"] == "online" and rows["h3"]["state"] == "conflict"
    assert "h1" in rows["h3"]["detail"]
    assert n.told("h2", 1, 0.3) == []
    sandbox.run(n.star.ns["h1"], "ip", "link", "set", "eth0", "down")
    assert n.told("h2", 1)[-1] == (n.address("h1"), "online", "normal"), "the second takes over when the first left"


def test_flood_of_chassis_ids_stays_on_its_port(net):
    n = net(3, inof={"max_hosts_per_port": 20})
    n.join("h1", "h2")
    h3 = n["h3"]
    for i in range(300):
        h3.address = f"10.78.{i // 250}.{i % 250 + 1}"
        h3.announce(chassis=b"\2\0\0\0" + i.to_bytes(2, "big"))
    wait(lambda: n.crowd.pump(0.01) or int(n.counters()["announcements"]) >= 250, "the flood taken in")
    status = n.daemon.ctl("show", "inof", "status")
    assert status["full_ports"] == ["h3"] and int(status["local_hosts"]) <= 22
    assert n.state("h1") == "online" and n.state("h2") == "online"


def test_flapping_is_damped(net):
    n = net(2)
    n.join()
    for _ in range(20):
        n["h2"].announce(ttl=0)
        n["h2"].announce()
        n.crowd.pump(0.05)
    wait(lambda: n.crowd.pump(0.01) or n.state("h2") == "damped", "h2 damped")
    assert len(n.told("h1", 100, 0.3)) <= 12


def storage(net, src, dst, sport, dport, layer):
    ip = IPv6(src=net.address(src), dst=net.address(dst)) if net.family == 6 else IP(src=net.address(src), dst=net.address(dst))
    return Ether(src=net.star.mac(src), dst=net.star.mac(dst)) / ip / layer(sport=sport, dport=dport) / bytes(64)


def received(net, wire, src, dst, packets):
    """How many of `packets` arrive; one that is no storage traffic marks the end."""
    sender, receiver = wire(net.star.ns[src], "eth0"), wire(net.star.ns[dst], "eth0")
    last = storage(net, src, dst, 7, 7, UDP)
    sender.send(*packets, last)

    def ours(p):
        return p.dst == net.star.mac(dst) and (UDP in p or TCP in p)
    count = 0
    while True:
        one = receiver.receive(1, ours, limit_s=5)
        assert one, "the last packet is missing"
        if UDP in one[0] and one[0][UDP].dport == 7:
            return count
        count += 1


def drops(net, port, reason):
    return int(next(d for d in net.counters()["drops"] if d["port"] == port)[reason])


@pytest.mark.parametrize("family", [4, 6])
def test_isolation_drops_what_it_counts(net, wire, family):
    n = net(3, family=family)
    n.join()
    z = n.daemon
    for zone, hosts in (("z1", ("h1", "h2")), ("z2", ("h3",))):
        z.ctl("zone", "add", zone)
        for h in hosts:
            z.ctl("zone", "host", "add", zone, n.address(h))
    mixed = lambda src, dst: [storage(n, src, dst, s, d, layer)  # noqa: E731
                              for s, d, layer in ((50000, 4791, UDP), (50000, 4420, TCP), (4420, 50000, TCP), (50001, 8009, TCP))] * 25
    assert received(n, wire, "h1", "h3", mixed("h1", "h3")) == 100, "the default is open"
    z.ctl("hard-zoning", "on")
    assert received(n, wire, "h1", "h2", mixed("h1", "h2")) == 100
    arrived = received(n, wire, "h1", "h3", mixed("h1", "h3"))
    assert arrived == 0
    assert drops(n, "h1", "isolated") == 100 - arrived
    rows = {p["port"]: p for p in z.ctl("show", "packet-drop")["ports"]}
    assert int(rows["h1"]["zone"]) == 100 and int(rows["h3"]["zone"]) == 0
    z.ctl("hard-zoning", "off")
    assert received(n, wire, "h1", "h3", mixed("h1", "h3")) == 100


def test_isolation_outlives_the_daemon(net, wire):
    n = net(2, inof={"hard_zoning": True, "zone": [{"name": "z1", "hosts": ["10.77.0.1"]}, {"name": "z2", "hosts": ["10.77.0.2"]}]})
    packets = [storage(n, "h1", "h2", 50000, 4791, UDP)] * 10
    assert received(n, wire, "h1", "h2", packets) == 0
    os.kill(n.daemon.process.pid, signal.SIGKILL)
    n.daemon.process.wait()
    assert received(n, wire, "h1", "h2", packets) == 0
    n.daemon.start()
    n.daemon.wait_ready()
    assert received(n, wire, "h1", "h2", packets) == 0
    assert drops(n, "h1", "isolated") == 30


def test_initiators_are_kept_apart(net, wire):
    n = net(3, inof={"block_initiators": True}, roles={"h3": frames.CLIENT})
    n.join()
    packets = lambda dst: [storage(n, "h1", dst, 50000, 4420, TCP)] * 10  # noqa: E731
    assert received(n, wire, "h1", "h2", packets("h2")) == 0
    assert received(n, wire, "h1", "h3", packets("h3")) == 10
    assert drops(n, "h1", "initiators") == 10


def test_white_list(net, wire):
    allow = [{"port": "h1", "hosts": ["10.77.0.1"]}, {"port": "h2", "hosts": ["10.77.0.0/28"]}]
    n = net(4, inof={"whitelist": {"on": True, "exceptions": ["h4"], "allow": allow}})
    for host in ("h1", "h2", "h3", "h4"):
        n[host].announce()
    wait(lambda: [n.state(h) for h in n.star.hosts] == ["online", "online", "denied", "online"], "states by the list")
    reply = n.daemon.ctl("show", "inof", "whitelist")
    assert [(h["address"], h["port"]) for h in reply["denied"]] == [("10.77.0.3", "h3")]
    assert "on h2 only" in reply["denied"][0]["detail"]
    packets = lambda src, dst: [storage(n, src, dst, 50000, 4791, UDP)] * 10  # noqa: E731
    assert received(n, wire, "h1", "h2", packets("h1", "h2")) == 10
    assert received(n, wire, "h4", "h1", packets("h4", "h1")) == 10
    assert received(n, wire, "h3", "h1", packets("h3", "h1")) == 0
    assert drops(n, "h3", "denied") == 10


def test_changes_outlast_a_restart_and_a_reload_takes_them_back(net):
    n = net(2, inof={"keep_changes": True})
    kept = n.daemon.ctl("zone", "add", "z1")
    assert kept["kept"]
    n.daemon.ctl("zone", "host", "add", "z1", "10.77.0.0/24")
    n.daemon.ctl("hard-zoning", "on")
    path = Path(n.daemon.ctl("show", "inof", "status")["state_file"])
    try:
        assert path.is_file()
        n.daemon.process.terminate()
        n.daemon.process.wait()
        n.daemon.start()
        n.daemon.wait_ready()
        zones = {z["name"]: z["members"] for z in n.daemon.ctl("show", "inof", "zone")["zones"]}
        assert zones == {"default": [], "z1": ["10.77.0.0/24"]}
        assert n.daemon.ctl("show", "inof", "status")["hard_zoning"]
        n.daemon.ctl("reload")
        assert [z["name"] for z in n.daemon.ctl("show", "inof", "zone")["zones"]] == ["default"]
        assert not n.daemon.ctl("show", "inof", "status")["hard_zoning"] and not path.exists()
    finally:
        n.daemon.run_ctl("detach", "--all")
    assert not path.parent.exists()


@pytest.mark.parametrize("words, code, said", [
    (["zone", "add", "default"], 1, "allowed"),
    (["zone", "add", "a/b"], 1, "'a/b'"),
    (["zone", "remove", "nix"], 1, "no zone 'nix'; zones are default"),
    (["zone", "host", "add", "default", "10.0.0.1"], 1, "by themselves"),
    (["zone", "host", "add", "nix", "10.0.0.1"], 1, "no zone 'nix'"),
    (["show", "inof", "host", "10.9.9.9"], 1, "no host 10.9.9.9"),
    (["show", "inof", "host", "abc"], 2, "allowed"),
    (["show", "inof", "zone", "nix"], 1, "no zone 'nix'"),
    (["hard-zoning", "maybe"], 2, "on"),
    (["zone"], 2, "which command"),
])
def test_wrong_arguments(wrong_arguments_net, words, code, said):
    done = wrong_arguments_net.daemon.run_ctl(*words)
    assert done.returncode == code and said in done.stderr, done.stderr


@pytest.fixture(scope="module")
def wrong_arguments_net(request):
    """One switch for all of them: they change nothing."""
    import conftest
    from vethlab import tools
    box = conftest.Sandbox(tools.Tools(request.config.getoption("--build")))
    request.addfinalizer(box.close)
    ns = box.netns("sw")
    box.veth((ns, "p0", ""), (ns, "x0", ""))

    class Only:
        daemon = box.daemon(ns, ["p0"], tables={"lldp": {"enabled": True}, "inof": {"on": True, **OFF}})
    return Only


def test_off_says_so(star):
    d = star(1).daemon()
    done = d.run_ctl("show", "inof", "host")
    assert done.returncode == 1 and "iNOF is off" in done.stderr
    assert d.ctl("show", "inof", "status")["on"] is False


def test_inof_needs_lldp(tools, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text("[inof]\non = true\n[[port]]\nname = \"p\"\n")
    done = subprocess.run([tools.path("losslessctl"), "config", "check", config], text=True, capture_output=True, check=False)
    assert done.returncode == 1 and f"{config}:1:1: inof.on" in done.stderr + done.stdout


def test_hosts_behind_a_deadlocked_port_have_left(net, wire):
    """The watchdog finds a queue that is held stopped; the storage behind it can't be reached until that ends."""
    n = net(2, queues=QUEUES, port={"rate": RATE, "watchdog": QUICK})
    n.join()
    n["h1"].announce()
    storm, sender = wire(n.star.ns["h2"], "eth0"), wire(n.star.ns["h1"], "eth0")
    storm.send(pfc({TC: LONGEST}))
    sender.send(*[data(n.star, TC) for _ in range(10)])
    a2 = n.address("h2")
    assert n.told("h1", 1) == [(a2, "offline", "pfc-deadlock")]
    assert n.state("h2") == "deadlock"
    storm.send(pfc({TC: 0}))
    assert n.told("h1", 1) == [(a2, "online", "normal")]
