# SPDX-License-Identifier: Apache-2.0
"""BGP between our own daemons: sessions, reflection, and iNOF across switches."""

import itertools
import signal
import socket

import pytest

from bgp_fabric import ASN, join
from vethlab.namespaces import in_namespace


@pytest.fixture
def paper(fabric, wait_for):
    """The paper's figure: reflectors B and C, clients A and D with a host each."""
    f = fabric(["a", "b", "c", "d"], hosts=[("ha", "a"), ("hd", "d")])
    for client, reflector in itertools.product("ad", "bc"):
        f.connect(reflector, client, {"client": True}, {})
    f.connect("b", "c")
    for name in "bc":
        f.start(name, bgp={"local_pref": 200})
    for name in "ad":
        f.start(name)
    for client, reflector in itertools.product("ad", "bc"):
        wait_for(lambda c=client, r=reflector: f.up(c, r), what=f"{client} to {reflector}")
    return f


def test_session_clear_and_shutdown(fabric, wait_for):
    f = fabric(["a", "b"], inof=False)
    f.connect("a", "b", {"description": "the other"})
    f.start("a")
    f.start("b")
    wait_for(lambda: f.up("a", "b") and f.up("b", "a"), what="the session")
    n = f.neighbor("a", "b")
    assert n["router_id"] == "10.99.0.2" and n["hold_s"] == 9 and n["families"] == ["inof"]
    assert {"route-refresh", "extended-message", "four-octet-as"} <= set(n["capabilities"])
    text = f.daemons["a"].run_ctl("show", "bgp", "summary").stdout
    assert "Established" in text and "the other" in text
    f.ctl("a", "clear", "bgp", f.ip("b"))
    wait_for(lambda: int(f.neighbor("b", "a")["established"]) == 2 and f.up("a", "b"), what="the session again")
    f.ctl("a", "clear", "bgp", f.ip("b"), "soft")
    wait_for(lambda: int(f.neighbor("b", "a")["received"]["refreshes"]) >= 1, what="a route refresh")
    f.ctl("a", "bgp", "neighbor", f.ip("b"), "shutdown", "until", "five")
    wait_for(lambda: 'administrative shutdown: "until five"' in f.neighbor("b", "a")["last_error"], what="the text")
    assert f.neighbor("a", "b")["held_down"] == "shutdown"
    f.ctl("a", "bgp", "neighbor", f.ip("b"), "enable")
    wait_for(lambda: f.up("a", "b"), what="the session after enable")
    bad = f.daemons["a"].run_ctl("clear", "bgp", "10.9.9.9")
    assert bad.returncode == 1 and "neighbours: 10.99.0.2" in bad.stderr


@pytest.mark.parametrize("theirs, comes_up", [("secret", True), ("wrong", False), ("", False)])
def test_md5(fabric, wait_for, theirs, comes_up):
    f = fabric(["a", "b"], inof=False)
    f.connect("a", "b", {"password": "secret"}, {"password": theirs} if theirs else {})
    f.start("a")
    f.start("b", bgp={"connect_retry_s": 1})
    if comes_up:
        wait_for(lambda: f.up("a", "b"), what="the session")
        return
    wait_for(lambda: f.neighbor("a", "b")["state"] in ("Connect", "Active"), what="a try")
    wait_for(lambda: int(kernel(f.ns["a"], "TCPMD5Failure")) + int(kernel(f.ns["a"], "TCPMD5NotFound")) > 0,
             what="segments that the kernel dropped")
    assert not f.up("a", "b")
    seen = f.neighbor("a", "b")["authentication"]
    assert seen["kind"] == "md5" and int(seen["md5_failures"]) + int(seen["md5_not_found"]) > 0
    assert "of whichever neighbour here" in seen["trouble"]


def kernel(netns, name):
    """A counter of TcpExt."""
    def read():
        with open("/proc/thread-self/net/netstat", encoding="ascii") as file:
            head, values = [line.split() for line in file if line.startswith("TcpExt:")]
        return values[head.index(name)]
    return in_namespace(netns, read)


def test_tcp_ao_needs_a_kernel_that_has_it(fabric, wait_for):
    f = fabric(["a", "b"], inof=False)
    f.connect("a", "b")
    f.start("a")
    has = {c["name"]: c["available"] for c in f.ctl("a", "show", "capabilities")["kernel"]}["tcp-ao"]
    f.connect("a", "b", {"key_chain": "c"})
    chain = [{"name": "c", "key": [{"id": 1, "secret": "s"}]}]
    f.daemons["a"].configure({}, [{"name": "up"}], tables=f.tables("a", key_chain=chain))
    done = f.daemons["a"].run_ctl("reload")
    assert (done.returncode == 0) == has, done.stderr
    if has:
        return
    assert "bgp_neighbor 10.99.0.2: key_chain" in done.stderr and "needs TCP-AO, which this kernel (" in done.stderr
    assert f.neighbor("a", "b")["authentication"]["kind"] == "none", "nothing of it is in force"
    # At the start the rest of the switch counts more; the neighbour stays down, and in the open nobody gets in.
    f.daemons["a"].process.terminate()
    f.daemons["a"].process.wait()
    f.daemons["a"].start()
    f.daemons["a"].wait_ready()
    assert "this kernel has no TCP-AO" in f.ctl("a", "show", "bgp", "summary")["listen_error"]
    f.start("b")
    wait_for(lambda: "this kernel has no TCP-AO" in f.neighbor("a", "b")["connect_error"], what="a try")
    wait_for(lambda: int(f.neighbor("b", "a")["sent"]["opens"]) > 0, what="a try without a signature")
    assert not f.up("a", "b") and not f.up("b", "a")


STORAGE = {"name": "storage", "otherwise": "deny", "rule": [{"action": "permit", "zone": "gold*"}]}


def test_filters_in_and_out_without_a_flap(fabric, wait_for):
    f = fabric(["a", "b"])
    f.connect("a", "b")
    own = {"a": {"zone": [{"name": "gold", "hosts": ["10.0.0.1"]}, {"name": "red", "hosts": ["10.0.0.2"]}]}, "b": {}}
    for name in "ab":
        f.start(name, inof=own[name])
    wait_for(lambda: f.up("a", "b"), what="the session")

    def zones():
        routes = f.ctl("b", "show", "bgp", "inof", "routes", "--kind", "zone", "--neighbor", f.ip("a"))["routes"]
        return sorted(r["route"].split()[0] for r in routes)

    def reload(name, keys):
        f.neighbors[name] = {"b" if name == "a" else "a": keys}
        f.daemons[name].configure({}, [{"name": "up"}], tables=f.tables(name, inof=own[name], bgp_filter=[STORAGE]))
        f.ctl(name, "reload")
    wait_for(lambda: zones() == ["gold", "red"], what="both zones")
    reload("b", {"import": "storage"})
    wait_for(lambda: zones() == ["gold"], what="what the import filter lets in")
    wait_for(lambda: int(f.neighbor("b", "a")["filtered_routes"]) > 0, what="denied routes")
    policy = f.ctl("b", "show", "bgp", "policy")["filters"]
    assert [(p["name"], p["import"], p["export"]) for p in policy] == [("storage", [f.ip("a")], [])]
    assert [r["match"] for r in policy[0]["rules"]] == ["zone gold*", "all others"]
    assert all(int(r["import_hits"]) > 0 for r in policy[0]["rules"])
    assert "zone gold*" in f.daemons["b"].run_ctl("show", "bgp", "policy", "storage").stdout
    bad = f.daemons["b"].run_ctl("show", "bgp", "policy", "other")
    assert bad.returncode == 1 and "filters: storage" in bad.stderr
    reload("b", {})
    wait_for(lambda: zones() == ["gold", "red"], what="both zones again")
    reload("a", {"export": "storage"})
    wait_for(lambda: zones() == ["gold"], what="what the export filter lets out")
    reload("a", {})
    wait_for(lambda: zones() == ["gold", "red"], what="both zones at the end")
    assert f.neighbor("b", "a")["established"] == "1" and f.neighbor("b", "a")["dropped"] == "0"


def link_local(sandbox, netns, dev, address):
    sandbox.run(netns, "sysctl", "-qw", f"net.ipv6.conf.{dev}.disable_ipv6=0", f"net.ipv6.conf.{dev}.addr_gen_mode=1")
    sandbox.run(netns, "ip", "addr", "add", f"{address}/64", "dev", dev, "nodad")


def test_link_local_neighbors_with_bfd(sandbox, wait_for):
    """A spine has the same address of a leaf on each of two links."""
    spine, leaves = sandbox.netns("s"), {n: sandbox.netns(n) for n in ("l1", "l2")}
    for n, netns in leaves.items():
        sandbox.veth((spine, n, ""), (netns, "up", ""))
        link_local(sandbox, spine, n, "fe80::1")
        link_local(sandbox, netns, "up", "fe80::2")

    def tables(router_id, neighbors):
        return {"bgp": {"on": True, "asn": ASN, "router_id": router_id, "hold_s": 30, "connect_retry_s": 1},
                "bfd": {"transmit_ms": 100, "receive_ms": 100},
                "bgp_neighbor": [{"address": a, "interface": i, "bfd": True, "ipv4_unicast": True} for a, i in neighbors]}
    s = sandbox.daemon(spine, list(leaves), name="s", tables=tables("10.0.0.9", [("fe80::2", n) for n in leaves]))
    daemons = {n: sandbox.daemon(netns, ["up"], name=n, tables=tables(f"10.0.0.{i}", [("fe80::1", "up")]))
               for i, (n, netns) in enumerate(leaves.items(), 1)}

    def states():
        return {n["address"]: n["state"] for n in s.ctl("show", "bgp", "summary")["neighbors"]}
    wait_for(lambda: states() == {"fe80::2%l1": "Established", "fe80::2%l2": "Established"}, 20, "both sessions")
    wait_for(lambda: [x["state"] for x in s.ctl("show", "bfd")["peers"]] == ["up", "up"], 20, "both BFD sessions")
    assert daemons["l1"].ctl("show", "bgp", "neighbors", "fe80::1%up")["neighbors"][0]["router_id"] == "10.0.0.9"
    sandbox.run(leaves["l1"], "ip", "addr", "del", "fe80::2/64", "dev", "up")
    wait_for(lambda: states()["fe80::2%l1"] != "Established", 5, "the fall of one by BFD")
    assert "BFD" in s.ctl("show", "bgp", "neighbors", "fe80::2%l1")["neighbors"][0]["last_error"]
    assert states()["fe80::2%l2"] == "Established"
    s.ctl("clear", "bgp", "fe80::2%l2")
    wait_for(lambda: states()["fe80::2%l2"] == "Established", 20, "the other one again")
    bad = s.run_ctl("show", "bgp", "neighbors", "fe80::2")
    assert bad.returncode == 1 and "fe80::2%l2" in bad.stderr


def test_ttl_security(fabric, wait_for, sandbox):
    f = fabric(["a", "b"], inof=False)
    f.connect("a", "b", {"ttl_security": 1, "passive": True}, {"ttl_security": 1})
    f.start("a")
    f.start("b")
    wait_for(lambda: f.up("a", "b"), what="the session")
    f.daemons["b"].configure({}, [{"name": "up"}], tables=f.tables("b") | {"bgp_neighbor": [{"address": f.ip("a")}]})
    f.ctl("b", "reload")
    wait_for(lambda: not f.up("a", "b"), what="the end of the session")
    wait_for(lambda: int(kernel(f.ns["a"], "TCPMinTTLDrop")) > 0, what="segments from too far away")
    assert not f.up("a", "b")


def test_listen_range_strangers_and_ipv6(fabric, wait_for, sandbox):
    f = fabric(["a", "b"], inof=False)
    for n in "ab":
        sandbox.run(f.ns[n], "sysctl", "-qw", "net.ipv6.conf.up.disable_ipv6=0")
        sandbox.run(f.ns[n], "ip", "addr", "add", f"fd00:99::{f.names.index(n) + 1}/64", "dev", "up", "nodad")
    f.neighbors["a"] = {}
    f.start("a", bgp_neighbor=[{"address": "fd00:99::/64", "client": True}])

    def strangers(count):
        for _ in range(count):
            with socket.create_connection((f.ip("a"), 179), timeout=5) as s:
                assert s.recv(100) == b"", "closed without a word"
    in_namespace(f.ns["b"], lambda: strangers(300))
    f.start("b", bgp_neighbor=[{"address": "fd00:99::1"}])
    wait_for(lambda: f.ctl("b", "show", "bgp", "summary")["neighbors"][0]["state"] == "Established", what="the session")
    dynamic = f.ctl("a", "show", "bgp", "summary")["neighbors"]
    assert [(n["address"], n["dynamic"]) for n in dynamic] == [("fd00:99::2", True)]
    f.ctl("b", "bgp", "neighbor", "fd00:99::1", "shutdown")
    wait_for(lambda: not f.ctl("a", "show", "bgp", "summary")["neighbors"], what="the neighbour forgotten")


def test_hosts_join_and_leave_across_switches(paper, wait_for, sandbox):
    f = paper
    join(f, wait_for, "hd", "ha")
    assert f.told("hd", 1) == [("10.77.0.1", "online", "normal")]
    assert f.told("ha", 1) == [("10.77.0.2", "online", "normal")]
    remote = f.ctl("d", "show", "inof", "host", "remote")["hosts"]
    assert [(h["address"], h["learned_from"]) for h in remote] == [("10.77.0.1", "10.99.0.1")]
    route = f.ctl("d", "show", "bgp", "inof", "routes", "--kind", "host")["routes"]
    assert len(route) == 2 and any(len(r["paths"]) == 2 for r in route), "ha's over both reflectors"
    sandbox.run(f.ns["a"], "ip", "link", "set", "ha", "down")
    assert f.told("hd", 1) == [("10.77.0.1", "offline", "link-down")], "with the reason that its own switch knows"
    sandbox.run(f.ns["a"], "ip", "link", "set", "ha", "up")
    wait_for(lambda: f.ctl("a", "show", "ports", "ha")["ports"][0]["link_up"], what="the link")
    f.hosts["ha"][1].announce()
    assert f.told("hd", 1) == [("10.77.0.1", "online", "normal")]
    # One reflector dies: nothing happens. Its client's switch is lost: reason 3.
    f.daemons["b"].process.send_signal(signal.SIGKILL)
    f.daemons["b"].process.wait()
    f.ctl("a", "bgp", "neighbor", f.ip("c"), "shutdown")
    assert f.told("hd", 1)[0] == ("10.77.0.1", "offline", "bfd")


def test_the_reflectors_configuration_overrides(paper, wait_for):
    f = paper
    join(f, wait_for, "hd", "ha")
    f.ctl("a", "zone", "add", "z")
    f.ctl("a", "zone", "host", "add", "z", "10.77.0.1")
    f.ctl("a", "zone", "host", "add", "z", "10.77.0.2")
    wait_for(lambda: any(z["name"] == "z" and len(z["hosts"]) == 2 for z in f.ctl("d", "show", "inof", "zone")["zones"]),
             what="a's zone at d")
    f.ctl("b", "zone", "add", "z")
    f.ctl("b", "zone", "host", "add", "z", "10.77.0.2")

    def members(name):
        return next((z["members"] for z in f.ctl(name, "show", "inof", "zone")["zones"] if z["name"] == "z"), None)
    for name in "acd":
        wait_for(lambda n=name: members(n) == ["10.77.0.2"], what=f"b's zone at {name}")
    said = next(z for z in f.ctl("a", "show", "inof", "zone", "inconsistent")["zones"] if z["name"] == "z")
    assert "the configuration here has 10.77.0.1, which is not in force" in said["inconsistent"]
    f.ctl("b", "default-zone", "off")
    for name in "ad":
        wait_for(lambda n=name: not f.ctl(n, "show", "inof", "status")["default_zone"], what=f"the default zone off at {name}")
    f.ctl("b", "default-zone", "on")
    f.ctl("b", "zone", "remove", "z")
    wait_for(lambda: members("d") == ["10.77.0.1", "10.77.0.2"], what="a's zone again")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_takes_no_host_away(paper, wait_for, how):
    f = paper
    join(f, wait_for, "hd", "ha")
    f.told("hd", 1)
    f.told("ha", 1)
    f.daemons["a"].process.send_signal(how)
    f.daemons["a"].process.wait()
    wait_for(lambda: all(int(f.neighbor("d", r)["dropped"]) == 0 for r in "bc") and not f.up("b", "a"), what="a gone for b")
    assert int(f.neighbor("b", "a")["stale_routes"]) > 0
    f.daemons["a"].start()
    f.daemons["a"].wait_ready()
    wait_for(lambda: f.up("b", "a") and f.up("c", "a"), what="a again")
    f.hosts["ha"][1].announce()
    wait_for(lambda: f.host_state("a", "ha").startswith("online"), what="ha online")
    assert f.host_state("d", "ha").startswith("online")
    assert f.told("hd", 1, 0.5) == [], "nobody at d was told anything"


def test_a_neighbour_that_reads_nothing(fabric, wait_for):
    """Its session falls, ours to others does not notice."""
    f = fabric(["a", "b"], inof=True)
    f.connect("a", "b")
    f.start("a", bgp_neighbor=[{"address": f.ip("b")}, {"address": "10.99.0.77", "passive": True}])
    f.start("b")
    wait_for(lambda: f.up("a", "b"), what="the session")
    f.sandbox.run(f.ns["b"], "ip", "addr", "add", "10.99.0.77/24", "dev", "up")

    def lazy():
        s = socket.create_connection((f.ip("a"), 179), timeout=5, source_address=("10.99.0.77", 0))
        s.sendall(bytes.fromhex("ff" * 16 + "0037010 4fde900030a63004d1a0218".replace(" ", "") +
                                "0104177000fe" + "02000600" + "41040000fde9" + "4600" + "4002" + "0078" + "c800"))
        return s
    s = in_namespace(f.ns["b"], lazy)
    try:
        wait_for(lambda: f.ctl("a", "show", "bgp", "neighbors", "10.99.0.77")["neighbors"][0]["state"] != "Active", what="its OPEN")
        wait_for(lambda: f.ctl("a", "show", "bgp", "neighbors", "10.99.0.77")["neighbors"][0]["state"] == "Active",
                 limit_s=15, what="its end")
        assert "hold timer" in f.ctl("a", "show", "bgp", "neighbors", "10.99.0.77")["neighbors"][0]["last_error"]
        assert f.up("a", "b")
    finally:
        s.close()


def test_bfd_takes_the_hosts_of_a_lost_switch_away(fabric, wait_for, sandbox):
    f = fabric(["a", "b"], hosts=[("ha", "a"), ("hb", "b")])
    f.connect("a", "b", {"bfd": True}, {"bfd": True})
    for name in "ab":
        f.start(name, bgp={"hold_s": 90}, bfd={"transmit_ms": 50, "receive_ms": 50})
    wait_for(lambda: f.up("a", "b"), what="the session")
    wait_for(lambda: all(p["state"] == "up" for n in "ab" for p in f.ctl(n, "show", "bfd", "peers")["peers"]), what="BFD up")
    join(f, wait_for, "ha", "hb")
    assert f.told("ha", 1) == [("10.77.0.2", "online", "normal")]
    sandbox.run(f.hub, "ip", "link", "set", "dev", "tob", "down")
    assert f.told("ha", 1) == [("10.77.0.2", "offline", "bfd")]
    assert f.neighbor("a", "b")["last_error"] == "sent: cease, BFD down"
