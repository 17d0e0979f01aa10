# SPDX-License-Identifier: Apache-2.0
"""BGP with speakers of others: FRR, BIRD, GoBGP, OpenBGPD and ExaBGP."""

import json
import signal

import pytest

from bgp_lab import OTHER, PREFIX, ROUTER, WATCHER
from bgp_peers import OTHERS


@pytest.mark.parametrize("kind", OTHERS)
def test_session_routes_and_refresh(bgp_lab, wait_for, kind):
    """Both families are offered; the one in common works, a client's route reaches another speaker."""
    x = bgp_lab()
    x.start({"address": OTHER}, {"address": WATCHER})
    peer = x.peer(kind)
    watcher = x.peer("bird" if kind != "bird" else "frr", WATCHER, announces=False)
    x.wait_up()
    x.wait_up(WATCHER)
    wait_for(peer.established, what=f"{kind} says so too", limit_s=20)
    if kind == "gobgp":
        peer.announce()
    wait_for(lambda: PREFIX in x.routes(), what="its route", limit_s=20)
    n = x.neighbor()
    assert n["families"] == ["ipv4-unicast"] and n["hold_s"] == 9, n
    wait_for(lambda: PREFIX in watcher.routes(), what="the route reflected")
    before = int(x.neighbor()["received"]["updates"])
    x.daemon.ctl("clear", "bgp", OTHER, "soft", "in")
    if kind != "openbgpd":  # 7.7 says that IPv4 unicast is not negotiated, and means it
        wait_for(lambda: int(x.neighbor()["received"]["updates"]) > before, what="the routes again")
    assert x.up() and int(x.neighbor()["update_faults"]) == 0


@pytest.mark.parametrize("kind", OTHERS)
def test_hold_time_and_new_start(bgp_lab, wait_for, kind):
    """A peer that stops without a word is missed; it comes back by itself."""
    x = bgp_lab(restart_s=0, hold_s=3)
    x.start({"address": OTHER})
    peer = x.peer(kind, hold=3)
    x.wait_up()
    x.sandbox.run(x.ns[OTHER], "ip", "link", "set", "dev", "up", "down")
    wait_for(lambda: not x.up(), what="the end of the hold time", limit_s=15)
    assert "hold timer" in x.neighbor()["last_error"]
    x.sandbox.run(x.ns[OTHER], "ip", "link", "set", "dev", "up", "up")
    wait_for(x.up, what=f"{kind} again", limit_s=40)
    assert peer.process.poll() is None


@pytest.mark.parametrize("kind", [k for k in OTHERS if k not in ("exabgp",)])
def test_md5(bgp_lab, wait_for, kind):
    x = bgp_lab()
    x.start({"address": OTHER, "password": "one secret".replace(" ", "-")})
    x.peer(kind, password="one-secret")
    x.wait_up()


@pytest.mark.parametrize("kind", ["frr", "bird", "openbgpd"])
def test_ttl_security(bgp_lab, wait_for, kind):
    x = bgp_lab()
    x.start({"address": OTHER, "ttl_security": 1})
    x.peer(kind, gtsm=True)
    x.wait_up()


@pytest.mark.parametrize("kind", ["frr", "bird", "gobgp"])
def test_graceful_restart_of_theirs(bgp_lab, wait_for, kind):
    """A killed peer's routes stay until it is back."""
    x = bgp_lab()
    x.start({"address": OTHER})
    peer = x.peer(kind, restart=True)
    x.wait_up()
    if kind == "gobgp":
        peer.announce()
    wait_for(lambda: PREFIX in x.routes(), what="its route")
    assert any(c.startswith("graceful-restart") for c in x.neighbor()["capabilities"]), x.neighbor()
    peer.process.kill()
    peer.process.wait()
    wait_for(lambda: not x.up(), what="the end of the session")
    assert PREFIX in x.routes() and int(x.neighbor()["stale_routes"]) == 1


@pytest.mark.parametrize("kind", ["frr", "bird"])
def test_graceful_restart_of_ours(bgp_lab, wait_for, kind):
    """What we reflected stays at the peer while we are away."""
    x = bgp_lab()
    x.start({"address": OTHER}, {"address": WATCHER})
    peer = x.peer(kind, WATCHER, restart=True, announces=False)
    x.peer("bird" if kind == "frr" else "frr", OTHER, restart=True)
    x.wait_up()
    x.wait_up(WATCHER)
    wait_for(lambda: PREFIX in peer.routes(), what="the route reflected")
    x.daemon.process.send_signal(signal.SIGKILL)
    x.daemon.process.wait()
    wait_for(lambda: not peer.established(), what="the session's end at the peer")
    assert PREFIX in peer.routes()
    x.daemon.start()
    x.daemon.wait_ready()
    x.wait_up(WATCHER, limit_s=40)
    wait_for(lambda: PREFIX in x.routes(), what="the routes of the other")
    assert PREFIX in peer.routes()


def attribute(flags, code, value):
    return f"attribute [ 0x{code:02x} 0x{flags:02x} 0x{value} ]"


def default_zone(on):
    tlv = f"000200030004{'0a630002'}{int(on):08x}"
    return f"{len(tlv) // 2:04x}{tlv}"


def test_exabgp_is_a_client_for_the_real_family(bgp_lab, wait_for):
    """An independent speaker announces a route of 6000/254, another one gets it from our reflector."""
    x = bgp_lab()
    x.start({"address": OTHER}, {"address": WATCHER})
    reach = "1770fe" + "04" + "0a630002" + "00" + default_zone(False)
    x.peer("exabgp", inof=True, attributes=attribute(0x80, 14, reach))
    watcher = x.peer("exabgp", WATCHER, inof=True)
    x.wait_up()
    x.wait_up(WATCHER)
    assert x.neighbor(WATCHER)["families"] == ["inof"]

    def ours():
        return x.daemon.ctl("show", "bgp", "inof", "routes")["routes"]
    wait_for(lambda: ours(), what="the route at the reflector")
    assert ours()[0]["route"] == "off at 10.99.0.2"

    def reflected():
        for message in watcher.said():
            update = message.get("neighbor", {}).get("message", {}).get("update", {})
            if "announce" in update:
                return update
        return None
    wait_for(lambda: reflected() is not None, what="the route at the watcher")
    update = reflected()
    assert update["attribute"]["originator-id"] == OTHER and update["attribute"]["cluster-list"] == [ROUTER]
    assert default_zone(False) in json.dumps(update)


@pytest.mark.parametrize("what, code, value, outcome", [
    ("communities of 3 bytes", 8, "000000", "withdraw"),
    ("aggregator of 7 bytes", 7, "00000000000000", "discard"),
    ("a cluster list of 3 bytes", 10, "000000", "withdraw"),
    ("an MP_REACH_NLRI with a wrong next hop", 14, "1770fe05000000000000", "reset")])
def test_malformed_attributes_of_a_real_speaker(bgp_lab, wait_for, what, code, value, outcome):
    x = bgp_lab()
    x.start({"address": OTHER})
    flags = 0x80 if code in (10, 14) else 0xC0
    x.peer("exabgp", inof=True, attributes=attribute(flags, code, value))
    if outcome == "reset":
        wait_for(lambda: "sent: UPDATE" in x.neighbor()["last_error"], what="the reset", limit_s=20)
        return
    x.wait_up()
    wait_for(lambda: int(x.neighbor()["update_faults"]) > 0, what=f"the fault: {what}")
    assert x.up()
    assert (PREFIX in x.routes()) == (outcome == "discard")
