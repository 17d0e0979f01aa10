# SPDX-License-Identifier: Apache-2.0
"""BGP over TCP-AO between two of our daemons, which needs a kernel with CONFIG_TCP_AO."""

import time
from datetime import datetime, timezone

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMIT_S = 60  # emulated
ASN = 65001
ADDRESSES = {"a": "10.99.0.1", "b": "10.99.0.2"}


def utc(at):
    return datetime.fromtimestamp(int(at), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def key(number, secret, **times):
    return {"id": number, "algorithm": "hmac-sha-256", "secret": secret, **times}


class Pair:
    """Two daemons on one link. The chain of each is its own to change; b may have a for a neighbour as a range."""

    def __init__(self, sandbox, wait_for):
        self.wait_for = wait_for
        self.ns = {n: sandbox.netns(n) for n in ADDRESSES}
        sandbox.veth((self.ns["a"], "up", ""), (self.ns["b"], "up", ""))
        self.daemons = {}
        for n, address in ADDRESSES.items():
            sandbox.run(self.ns[n], "ip", "addr", "add", f"{address}/24", "dev", "up")
            self.daemons[n] = sandbox.daemon(self.ns[n], ["up"], name=n, start=False)

    def configure(self, name, chain, neighbor=None):
        """`chain`: its keys, none for no chain."""
        other = ADDRESSES["b" if name == "a" else "a"]
        tables = {"bgp": {"on": True, "asn": ASN, "router_id": ADDRESSES[name], "hold_s": 60, "connect_retry_s": 1},
                  "bgp_neighbor": [{"address": other, **({"key_chain": "c"} if chain else {}), **(neighbor or {})}]}
        if chain:
            tables["key_chain"] = [{"name": "c", "key": chain}]
        self.daemons[name].configure({}, [{"name": "up"}], tables=tables)

    def start(self, a, b, neighbors=None):
        for name, chain in (("a", a), ("b", b)):
            self.configure(name, chain, (neighbors or {}).get(name))
            self.daemons[name].start()
        for daemon in self.daemons.values():
            daemon.wait_ready(3 * LIMIT_S)

    def reload(self, name, chain, neighbor=None):
        self.configure(name, chain, neighbor)
        return self.daemons[name].run_ctl("reload")

    def see(self, name):
        """What one has of the other."""
        found = self.daemons[name].ctl("show", "bgp", "neighbors")["neighbors"]
        return found[0] if found else None

    def up(self, name="a"):
        seen = self.see(name)
        return seen is not None and seen["state"] == "Established"

    def until(self, condition, what):
        self.wait_for(condition, LIMIT_S, what)

    def current(self, name):
        """Send ID in use of the connection."""
        return self.see(name)["authentication"].get("current_id")


@pytest.fixture
def pair(sandbox, wait_for):
    return Pair(sandbox, wait_for)


def assert_second_key_carries(pair):
    """The session that was there still is, and something goes over it with key 2."""
    sent = int(pair.see("b")["received"]["refreshes"])
    pair.daemons["a"].ctl("clear", "bgp", ADDRESSES["b"], "soft")
    pair.until(lambda: int(pair.see("b")["received"]["refreshes"]) > sent, "something over the new key")
    for name in "ab":
        seen = pair.see(name)
        assert seen["established"] == "1" and seen["dropped"] == "0" and seen["authentication"]["current_id"] == 2


def test_tcp_ao_session_comes_up_and_keys_change_by_hand(pair):
    pair.start([key(1, "one")], [key(1, "one")])
    pair.until(pair.up, "the session")
    seen = pair.see("a")["authentication"]
    assert seen["kind"] == "tcp-ao" and seen["key_chain"] == "c" and seen["current_id"] == 1 and seen["wanted_id"] == 1
    assert int(seen["good_segments"]) > 0 and int(seen["bad_segments"]) == 0 and not seen["trouble"]
    assert [(k["send_id"], k["algorithm"], k["sends"]) for k in seen["keys"]] == [(1, "hmac-sha-256", True)]
    text = pair.daemons["a"].run_ctl("show", "bgp", "neighbors").stdout
    kernel = {c["name"]: c for c in pair.daemons["a"].ctl("show", "capabilities")["kernel"]}
    assert kernel["tcp-ao"]["available"]
    assert "TCP-AO, key chain c" in text and "signs with 1, asks for 1" in text
    # A second key on both, then the first one goes: the session stays.
    for name in "ab":
        done = pair.reload(name, [key(1, "one"), key(2, "two", send_from=utc(time.time() + 86400))])
        assert done.returncode == 0, done.stderr
    for name in "ab":
        assert pair.reload(name, [key(1, "one", send_until=utc(time.time() - 1)), key(2, "two")]).returncode == 0
        assert pair.current(name) == 2
    for name in "ab":
        assert pair.reload(name, [key(2, "two")]).returncode == 0
    assert_second_key_carries(pair)


def test_tcp_ao_wrong_key_shows_as_that(pair):
    pair.start([key(1, "one")], [key(1, "another")])
    pair.until(lambda: int(pair.see("b")["authentication"]["bad_segments"]) > 0, "segments with a wrong signature")
    seen = pair.see("b")
    assert seen["state"] != "Established"
    assert "wrong signature: the secrets or algorithms differ" in seen["authentication"]["trouble"]
    pair.reload("b", [key(7, "one")])
    pair.until(lambda: int(pair.see("b")["authentication"]["listener_unknown_key_segments"]) > 0, "an ID that no key has")
    assert "had a key ID that no key in use here has" in pair.see("b")["authentication"]["trouble"]
    # Nobody gets in without a signature, and right again is right again.
    pair.reload("a", [])
    pair.until(lambda: int(pair.see("b")["authentication"]["listener_unsigned_segments"]) > 0, "tries without a signature")
    assert not pair.up("b")
    pair.reload("b", [key(1, "one")])
    pair.reload("a", [key(1, "one")])
    pair.until(pair.up, "the session with the same key")


def test_tcp_ao_rollover_by_time_without_a_flap(pair):
    pair.start([key(1, "old")], [key(1, "old")])
    pair.until(pair.up, "the session")
    since = {n: pair.see(n)["established"] for n in "ab"}
    at = int(time.time()) + 10
    chain = [key(1, "old", send_until=utc(at + 2), accept_until=utc(at + 6)),
             key(2, "new", send_from=utc(at), accept_from=utc(at - 5))]
    for name in "ab":
        assert pair.reload(name, chain).returncode == 0
    assert pair.see("a")["authentication"]["next_change"] in [utc(at + s) for s in (-5, 0, 2, 6)]
    pair.until(lambda: pair.current("a") == 2 and pair.current("b") == 2, "both sign with the new key")

    def only_new():
        return all([k["send_id"] for k in pair.see(n)["authentication"]["keys"]] == [2] for n in "ab")
    pair.until(only_new, "the old key gone")
    pair.daemons["a"].ctl("clear", "bgp", ADDRESSES["b"], "soft")
    pair.until(lambda: int(pair.see("b")["received"]["refreshes"]) > 0, "something over the new key")
    for name in "ab":
        seen = pair.see(name)
        assert seen["established"] == since[name] == "1" and seen["dropped"] == "0", "the very same session"
        assert int(seen["authentication"]["bad_segments"]) == 0 and not seen["authentication"]["next_change"]


def test_tcp_ao_listen_range_and_no_key_left(pair):
    ranged = {"address": "10.99.0.0/24"}
    pair.start([key(1, "one")], [key(1, "one")], {"b": ranged})
    pair.until(pair.up, "the session of a range")
    # The last key of b's ends: so does the session, and nothing unsigned comes in its place.
    assert pair.reload("b", [key(1, "one", send_until=utc(time.time() + 5))], ranged).returncode == 0
    pair.until(lambda: not pair.up(), "the end of the session")
    pair.reload("a", [])
    pair.until(lambda: int(pair.see("a")["sent"]["opens"]) > 0, "a connection without a key")
    assert not pair.up() and pair.see("b") is None
    pair.reload("b", [key(1, "one")], ranged)
    pair.reload("a", [key(1, "one")])
    pair.until(pair.up, "the session with a key again")


def test_tcp_ao_session_goes_on_in_another_process(pair):
    """Its keys are in the kernel, and follow the chain there too."""
    pair.start([key(1, "one")], [key(1, "one")])
    pair.until(pair.up, "the session")
    for name in "ab":
        old = pair.daemons[name].process
        pair.daemons[name].start(more=["--take-over"])
        pair.wait_for(lambda o=old: o.poll() is not None, 3 * LIMIT_S, "the end of the old process")
        pair.daemons[name].wait_ready(3 * LIMIT_S)
        seen = pair.see(name)
        assert seen["handed_over"] == 1 and seen["authentication"]["current_id"] == 1
    for name in "ab":
        assert pair.reload(name, [key(1, "one"), key(2, "two", send_from=utc(time.time() + 86400))]).returncode == 0
    for name in "ab":
        assert pair.reload(name, [key(1, "one", send_until=utc(time.time() - 1)), key(2, "two")]).returncode == 0
    assert_second_key_carries(pair)
