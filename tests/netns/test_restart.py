# SPDX-License-Identifier: Apache-2.0
"""Restarts that nobody notices: sessions and hosts go on in the next process, by the hand-over socket and by a service
manager's fd store; and what a kill leaves."""

import signal
import threading
import time

import pytest

from bgp_fabric import join
from bgp_lab import OTHER, PREFIX
from fd_store import FdStore


@pytest.fixture
def store(sandbox, request):
    def make(name):
        made = FdStore(sandbox.path, name)
        request.addfinalizer(made.close)
        return made
    return make


def take_over(daemon, wait_for):
    """Another process takes the daemon's place, while it runs."""
    old = daemon.process
    daemon.start(more=["--take-over"])
    wait_for(lambda: old.poll() is not None, what="the end of the old daemon")
    assert old.returncode == 0
    daemon.wait_ready()


def restart(daemon, store, how=signal.SIGTERM):
    """As systemctl restart, or as after a crash."""
    daemon.process.send_signal(how)
    daemon.process.wait(20)
    daemon.start(launcher=store.launcher)
    daemon.wait_ready()


@pytest.fixture
def line(fabric, wait_for, store):
    """a - b - c, b reflects and is restarted; hosts at a, b and c."""
    def make(managed=False, b_bfd=None, **more):
        f = fabric(["a", "b", "c"], hosts=[("ha", "a"), ("hb", "b"), ("hc", "c")])
        bfd = {"bfd": True} if b_bfd else {}
        for end in "ac":
            f.connect("b", end, {"client": True, **bfd}, bfd)
        f.store = store("b") if managed else None
        for name in "abc":
            tables = {"bfd": b_bfd} if b_bfd else {}
            f.daemons[name] = f.sandbox.daemon(f.ns[name], f.ports(name), name=name, start=False,
                                               tables=f.tables(name, bgp={"hold_s": 30, **more}, **tables))
            f.daemons[name].start(launcher=f.store.launcher if managed and name == "b" else ())
            f.daemons[name].wait_ready()
        for end in "ac":
            wait_for(lambda e=end: f.up("b", e) and f.up(e, "b"), what=f"b to {end}")
        return f
    return make


def sessions(f):
    """What all of them say of their sessions."""
    out = {}
    for name in "abc":
        for n in f.ctl(name, "show", "bgp", "summary")["neighbors"]:
            out[name, n["address"]] = (n["state"], int(n["established"]), int(n["dropped"]))
    return out


def ages(f, name="b"):
    return {n["address"]: int(n["state_ms"]) for n in f.ctl(name, "show", "bgp", "summary")["neighbors"]}


def settle(f):
    """All hosts have been told of one another."""
    f.crowd.pump(10, lambda: len({(t.host, t.message.subject) for t in f.crowd.told}) >= 6)
    f.crowd.pump(10, lambda: all(int(f.ctl(n, "show", "inof", "status")["under_way"]) == 0 for n in "abc"))
    return f.crowd.take()


def churn(f, is_over, step_s=0.01):
    """ha changes its announcement 100 times a second, each a notification for hb and hc, until done."""
    versions = 0
    while not is_over():
        versions += 1
        f.hosts["ha"][1].announce(nqn=b"nqn.%d" % versions)
        f.crowd.pump(step_s)


def sequences(told, host):
    return [t.message.sequence for t in told if t.host == host]


def go_through(f, wait_for, act):
    """`act` under 100 notifications a second, which come from a thread; what hosts were told meanwhile."""
    over = threading.Event()
    thread = threading.Thread(target=churn, args=(f, over.is_set))
    thread.start()
    try:
        wait_for(lambda: len(f.crowd.told) > 40, what="notifications")
        act()
        so_far = len(f.crowd.told)
        wait_for(lambda: len(f.crowd.told) > so_far + 40, what="notifications after it")
    finally:
        over.set()
        thread.join()
    f.crowd.pump(10, lambda: all(int(f.ctl(n, "show", "inof", "status")["under_way"]) == 0 for n in "abc"))
    return f.crowd.take()


def check_hosts(told, before):
    """Nobody was told a leave, and each host's numbers went on by one."""
    assert [t for t in told if not t.message.online] == [], "no wrong leave"
    for host, last in before.items():
        fresh = sorted({t.message.sequence for t in told if t.host == host})
        assert len(fresh) > 20, (host, fresh)
        assert fresh[0] == last + 1 and fresh == list(range(last + 1, last + 1 + len(fresh))), (host, last, fresh[:5], fresh[-5:])


@pytest.mark.parametrize("managed", [False, True], ids=["take-over", "fd-store"])
def test_a_planned_restart_under_notifications(line, wait_for, managed):
    f = line(managed)
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)
    before, age, began = sessions(f), ages(f), time.monotonic()
    last = {h: max(host.seen) for h, (_, host) in f.hosts.items() if h != "ha"}
    told = go_through(f, wait_for, lambda: restart(f.daemons["b"], f.store) if managed else take_over(f.daemons["b"], wait_for))
    check_hosts(told, last)
    assert sessions(f) == before, "nobody's session fell"
    passed = (time.monotonic() - began) * 1000
    assert all(ages(f)[a] >= age[a] for a in age) and all(ages(f)[a] <= age[a] + passed + 1000 for a in age), "since when they are up"
    for end in "ac":
        assert f.neighbor("b", end)["handed_over"] == 1
    # They work on.
    f.hosts["ha"][1].announce(ttl=0)
    assert ("10.77.0.1", "offline", "normal") in f.told("hc", 1) and ("10.77.0.1", "offline", "normal") in f.told("hb", 1)
    text = f.daemons["b"].run_ctl("show", "bgp", "neighbors", f.ip("a")).stdout
    assert "handed over" in text


def test_again_and_again(line, wait_for):
    f = line()
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)
    before = sessions(f)
    for times in (1, 2, 3):
        take_over(f.daemons["b"], wait_for)
        assert f.neighbor("b", "a")["handed_over"] == times
    take_over(f.daemons["a"], wait_for)
    assert sessions(f) == before
    assert settle_none(f) == []


def settle_none(f):
    f.crowd.pump(1)
    return f.crowd.take()


def test_what_happens_meanwhile(line, wait_for, sandbox):
    """A host's link is lost and a zone is made in the old daemon's last moments."""
    f = line()
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)
    f.ctl("b", "zone", "add", "z")
    f.ctl("b", "bgp", "neighbor", f.ip("c"), "shutdown")
    f.told("ha", 1)  # hc has gone with it
    f.crowd.take()
    old = f.daemons["b"].process
    old.send_signal(signal.SIGSTOP)
    sandbox.run(f.ns["b"], "ip", "link", "set", "hb", "down")
    old.send_signal(signal.SIGCONT)
    take_over(f.daemons["b"], wait_for)
    assert ("10.77.0.2", "offline", "link-down") in f.told("ha", 1)
    assert any(z["name"] == "z" for z in f.ctl("b", "show", "inof", "zone")["zones"])
    assert f.neighbor("b", "c")["held_down"] == "shutdown"


def test_another_configuration_for_one_neighbour(line, wait_for):
    """Its session begins anew, others go on."""
    f = line()
    join(f, wait_for, "ha")
    f.neighbors["b"]["c"] = {"client": True, "max_prefixes": 77}
    f.daemons["b"].configure({}, [{"name": "hb"}], tables=f.tables("b", bgp={"hold_s": 30}))
    take_over(f.daemons["b"], wait_for)
    wait_for(lambda: int(f.neighbor("c", "b")["dropped"]) == 1 and f.up("c", "b"), what="c's session anew")
    assert f.neighbor("c", "b")["last_error"] == "received: cease, other configuration change"
    assert int(f.neighbor("a", "b")["dropped"]) == 0


def test_a_neighbour_of_a_range(fabric, wait_for):  # noqa: F811
    f = fabric(["a", "b"], inof=False)
    f.start("a", bgp_neighbor=[{"address": "10.99.0.0/24"}])
    f.start("b", bgp_neighbor=[{"address": f.ip("a")}])
    wait_for(lambda: f.up("b", "a"), what="the session")
    take_over(f.daemons["a"], wait_for)
    n = f.ctl("a", "show", "bgp", "summary")["neighbors"]
    assert [(x["address"], x["state"], x["dynamic"]) for x in n] == [(f.ip("b"), "Established", True)]
    take_over(f.daemons["b"], wait_for)
    assert int(f.neighbor("a", "b")["established"]) == int(f.neighbor("b", "a")["established"]) == 1


def test_take_over_without_a_daemon_is_a_start(fabric, wait_for):
    f = fabric(["a"], inof=False)
    f.start("a")
    f.daemons["a"].process.kill()
    f.daemons["a"].process.wait()
    f.daemons["a"].start(more=["--take-over"])
    f.daemons["a"].wait_ready()


def test_a_kill_with_a_fd_store(line, wait_for):
    """Sessions go on, hosts are told nothing wrong."""
    f = line(managed=True)
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)
    wait_for(lambda: sum(n.startswith("bgp-") for n in f.store.names()) == 2 and "state-bgp" in f.store.names(), what="the store")
    before = sessions(f)
    last = {h: max(host.seen) for h, (_, host) in f.hosts.items()}
    restart(f.daemons["b"], f.store, signal.SIGKILL)
    assert sessions(f) == before
    assert settle_none(f) == [], "nobody was told anything"
    f.hosts["ha"][1].announce(nqn=b"nqn.other")
    told = go_through(f, wait_for, lambda: None)
    check_hosts([t for t in told if t.host == "hb"], {"hb": last["hb"]})


def test_a_kill_under_notifications_with_a_fd_store(line, wait_for):
    """Where the state is not what it was, graceful restart takes its place: no wrong leave either way."""
    f = line(managed=True)
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)
    told = go_through(f, wait_for, lambda: restart(f.daemons["b"], f.store, signal.SIGKILL))
    for end in "ac":
        wait_for(lambda e=end: f.up("b", e), what=f"b to {end}")
    assert [t for t in told if not t.message.online] == []
    f.hosts["ha"][1].announce(ttl=0)
    assert ("10.77.0.1", "offline", "normal") in f.told("hc", 1)


def test_a_damaged_state_is_refused(line, wait_for, sandbox):
    f = line(managed=True)
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)
    f.daemons["b"].process.kill()
    f.daemons["b"].process.wait()
    f.store.damage("state-bgp")
    f.daemons["b"].start(launcher=f.store.launcher)
    f.daemons["b"].wait_ready()
    assert "state of the process before is not used: " in f.daemons["b"].log.read_text()
    for end in "ac":
        wait_for(lambda e=end: f.up("b", e), what=f"b to {end}")
    assert [t for t in settle_none(f) if not t.message.online] == []


def test_bfd_does_not_notice(line, wait_for):
    f = line(b_bfd={"transmit_ms": 50, "receive_ms": 50})
    join(f, wait_for, "ha", "hb", "hc")
    settle(f)

    def peers(name):
        return {p["address"]: p for p in f.ctl(name, "show", "bfd", "peers")["peers"]}
    wait_for(lambda: all(p["state"] == "up" for n in "abc" for p in peers(n).values()), what="BFD up")
    ids = {a: p["discriminator"] for a, p in peers("b").items()}
    before = sessions(f)
    take_over(f.daemons["b"], wait_for)
    assert {a: p["discriminator"] for a, p in peers("b").items()} == ids
    wait_for(lambda: all(int(p["detection_us"]) == 150_000 for n in "abc" for p in peers(n).values()), what="the times of before")
    assert all(int(p["counters"]["went_down"]) == 0 for n in "ac" for p in peers(n).values())
    assert sessions(f) == before
    f.daemons["b"].process.send_signal(signal.SIGSTOP)
    wait_for(lambda: not f.up("a", "b"), what="detection, as ever")
    f.daemons["b"].process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_others_see_no_reset(bgp_lab, wait_for, kind):  # noqa: F811
    x = bgp_lab(hold_s=6)
    x.start({"address": OTHER, "password": "secret"})
    peer = x.peer(kind, password="secret", hold=6)
    x.wait_up()
    wait_for(lambda: PREFIX in x.routes(), what="its route", limit_s=20)
    take_over(x.daemon, wait_for)
    assert x.neighbor()["handed_over"] == 1 and int(x.neighbor()["established"]) == 1 and PREFIX in x.routes()
    began = time.monotonic()
    wait_for(lambda: time.monotonic() - began > 7, limit_s=15, what="more than the hold time")
    assert x.up() and peer.established() and int(x.neighbor()["dropped"]) == 0
