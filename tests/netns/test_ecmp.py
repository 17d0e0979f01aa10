# SPDX-License-Identifier: Apache-2.0
"""ECMP: the hash policy is set, kept and given back, and flows are shared out as `show ecmp` says."""

from pathlib import Path

from vethlab.namespaces import in_namespace

POLICY = "net/ipv4/fib_multipath_hash_policy"


def policy(netns):
    return int(in_namespace(netns, lambda: Path("/proc/sys", POLICY).read_text()))


def routed(sandbox):
    """A router with two ways to 10.9.0.0/16."""
    router, far = sandbox.netns("router"), sandbox.netns("far")
    for i in (1, 2):
        sandbox.veth((router, f"p{i}", ""), (far, f"q{i}", ""))
        sandbox.run(router, "ip", "address", "add", f"10.1.{i}.1/24", "dev", f"p{i}")
        sandbox.run(far, "ip", "address", "add", f"10.1.{i}.2/24", "dev", f"q{i}")
    sandbox.run(router, "ip", "route", "add", "10.9.0.0/16", "nexthop", "via", "10.1.1.2", "nexthop", "via", "10.1.2.2")
    return router


def test_policy_is_kept_and_flows_are_shared(sandbox, wait_for):
    router = routed(sandbox)
    assert policy(router) == 0
    daemon = sandbox.daemon(router, ["p1", "p2"])
    one_way = daemon.ctl("show", "ecmp", "10.9.0.1")
    assert one_way["wanted"] == "keep" and len(one_way["next_hops"]) == 1, "addresses alone: all flows one way"
    assert len(one_way["flows"]) == 64

    daemon.configure({}, [{"name": "p1"}, {"name": "p2"}], tables={"ecmp": {"hash": "l4"}})
    daemon.ctl("reload")
    assert policy(router) == 1
    both = daemon.ctl("show", "ecmp", "10.9.0.1", "--flows", "400")
    assert both["in_force"] and both["ipv4_policy"] == 1 and both["ipv6_policy"] == 1
    flows = {hop["gateway"]: hop["flows"] for hop in both["next_hops"]}
    assert set(flows) == {"10.1.1.2", "10.1.2.2"} and sum(flows.values()) == 400
    assert min(flows.values()) > 100, flows
    # What is shown is what the kernel does.
    flow = both["flows"][0]
    route = sandbox.run(router, "ip", "route", "get", "10.9.0.1", "ipproto", "udp", "sport", str(flow["source_port"]),
                        "dport", "4791")
    assert both["next_hops"][flow["next_hop"]]["gateway"] in route

    sandbox.run(router, "sysctl", "-q", "-w", POLICY.replace("/", ".") + "=0")
    wait_for(lambda: policy(router) == 1, what="the policy repaired")
    assert daemon.ctl("show", "ecmp")["repaired"] == "1"
    daemon.ctl("detach", "--all")
    assert policy(router) == 0


def test_bad_requests_are_refused(sandbox):
    daemon = sandbox.daemon(routed(sandbox), ["p1"])
    for words, complaint in ((["10.9.0"], "allowed: an IPv4 or IPv6 address"),
                             (["10.9.0.1", "--source", "::1"], "of the destination's family"),
                             (["10.77.0.1"], "no route to 10.77.0.1"),
                             (["10.9.0.1", "--source-port", "65530"], "ports end at 65535")):
        done = daemon.run_ctl("show", "ecmp", *words)
        assert done.returncode == 1 and complaint in done.stderr, done.stderr
