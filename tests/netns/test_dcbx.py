# SPDX-License-Identifier: Apache-2.0
"""DCBX on real ports: two daemons in each dialect, and a neighbour made of bytes."""

import struct

import pytest
from scapy.layers.l2 import Ether

LLDP = 0x88CC
PFC = {"3": {"lossless": True, "limit": "1MB", "pfc": True}}
OTHER = {"4": {"lossless": True, "limit": "1MB", "pfc": True}, "1": {"weight": 50}}
IEEE, CEE = "0080c2", "001b21"


def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


def org(oui, subtype, value):
    return tlv(127, bytes.fromhex(oui) + bytes([subtype]) + bytes.fromhex(value))


def lldpdu(*more, mac="02:00:00:00:01:01", ttl=120):
    body = tlv(1, b"\4" + bytes.fromhex(mac.replace(":", ""))) + tlv(2, b"\5eth0") + tlv(3, struct.pack("!H", ttl))
    return bytes(Ether(src=mac, dst="01:80:c2:00:00:0e", type=LLDP)) + body + b"".join(more) + tlv(0, b"")


def org_tlvs(packet):
    """(OUI, subtype) -> value of the org TLVs of a frame, in hex."""
    body, found = bytes(packet)[14:], {}
    while len(body) >= 2:
        head = struct.unpack("!H", body[:2])[0]
        value, body = body[2:2 + (head & 0x1FF)], body[2 + (head & 0x1FF):]
        if head >> 9 == 127:
            found[value[:3].hex(), value[3]] = value[4:].hex()
    return found


def dcbx(daemon, port):
    return daemon.ctl("show", "dcbx", port)["ports"][0]


def pfc_of(side):
    return side["pfc"]["priorities"]


def pfc_tcs(daemon):
    return [row["tc"] for row in daemon.ctl("show", "pfc")["queues"] if row["enabled"]]


def alarms(daemon, port):
    return {a["kind"] for a in dcbx(daemon, port)["alarms"]}


@pytest.fixture
def pair(sandbox):
    """Two daemons on one wire; each with queues and the keys of [dcbx]."""
    a, b = sandbox.netns("a"), sandbox.netns("b")
    sandbox.veth((a, "left", "02:00:00:00:0a:01"), (b, "right", "02:00:00:00:0b:01"))

    def make(left, right, left_queues=None, right_queues=None):
        def tables(settings):
            return {"lldp": {"enabled": True}, "dcbx": {"on": True, **settings}}
        return (sandbox.daemon(a, ["left"], left_queues or PFC, name="da", tables=tables(left)),
                sandbox.daemon(b, ["right"], right_queues or OTHER, name="db", tables=tables(right)))
    return make


@pytest.mark.parametrize("version", ["ieee", "cee"])
def test_the_willing_end_follows(pair, sandbox, wait_for, version):
    willing = {"ets_willing": True, "pfc_willing": True, "app_willing": True}
    da, db = pair({"version": "auto", **willing}, {"version": version})
    wait_for(lambda: pfc_of(dcbx(da, "left")["operational"]) == [4], what="the willing end to follow")
    here, there = dcbx(da, "left"), dcbx(db, "right")
    assert here["dialect"] == version and there["dialect"] == version
    assert pfc_of(here["local"]) == [3] and pfc_of(there["operational"]) == [4]
    assert here["operational"]["ets"]["share"] == there["local"]["ets"]["share"]
    assert here["operational"]["ets"]["share"][1] == 50
    assert here["operational"]["pfc"]["by"] == "peer" and there["operational"]["pfc"]["by"] == "local"
    assert alarms(da, "left") == alarms(db, "right") == set()
    # The port is what was agreed on.
    wait_for(lambda: pfc_tcs(da) == [4], what="software PFC to follow")
    text = da.run_ctl("show", "dcbx").stdout
    assert "OPERATIONAL" in text and "4 (peer)" in text and version in text
    # The neighbour is gone: back to what is configured.
    db.configure(OTHER, [{"name": "right"}], tables={"lldp": {"enabled": True}})
    assert db.run_ctl("reload").returncode == 0
    wait_for(lambda: pfc_of(dcbx(da, "left")["operational"]) == [3], what="the configuration to hold again")
    wait_for(lambda: pfc_tcs(da) == [3], what="software PFC to follow")
    assert db.run_ctl("show", "dcbx").stdout == "no port has DCBX\n"


@pytest.mark.parametrize("version", ["ieee", "cee"])
def test_mismatch_comes_and_goes(pair, wait_for, version):
    da, db = pair({"version": version}, {"version": version})
    wait_for(lambda: alarms(da, "left") == alarms(db, "right") == {"PFC mismatch"}, what="the mismatch at both ends")
    assert "PFC mismatch: neither end is willing: PFC on priorities 3 here, 4 there" in da.log.read_text()
    db.configure(PFC, [{"name": "right"}],
                 tables={"lldp": {"enabled": True}, "dcbx": {"on": True, "version": version}})
    assert db.run_ctl("reload").returncode == 0
    wait_for(lambda: alarms(da, "left") == alarms(db, "right") == set(), what="the mismatch to end")
    assert "PFC mismatch is over" in da.log.read_text()


def test_version_mismatch_comes_and_goes(pair, wait_for):
    da, db = pair({"version": "ieee", "pfc_willing": True}, {"version": "cee"})
    wait_for(lambda: alarms(da, "left") == alarms(db, "right") == {"version mismatch"}, what="the alarm at both ends")
    assert pfc_of(dcbx(da, "left")["operational"]) == [3]
    da.configure(PFC, [{"name": "left"}],
                 tables={"lldp": {"enabled": True}, "dcbx": {"on": True, "pfc_willing": True}})
    assert da.run_ctl("reload").returncode == 0
    wait_for(lambda: alarms(da, "left") == alarms(db, "right") == set(), what="the alarm to end")
    assert pfc_of(dcbx(da, "left")["operational"]) == [4]


def switch_of(star, **settings):
    s = star(1)
    return s, s.daemon(PFC, tables={"lldp": {"enabled": True, "interval_s": 1, "hold": 2},
                                    "dcbx": {"on": True, **settings}})


ETS_HEX = "01234567" + "111111111010" + "0000" + "020202020202" + "0000"


def test_bytes_of_ieee(star, wire):
    s, d = switch_of(star)
    host = wire(s.ns["h1"], "eth0")
    seen = host.receive(1, lambda p: p.type == LLDP)
    assert seen, "no LLDPDU"
    assert {k: v for k, v in org_tlvs(seen[0]).items() if k[0] == IEEE} == {
        (IEEE, 9): "00" + ETS_HEX, (IEEE, 10): "00" + ETS_HEX, (IEEE, 11): "0808", (IEEE, 12): "006312b7"}


def test_bytes_of_cee(star, wire):
    s, d = switch_of(star, version="cee", pfc_willing=True)
    host = wire(s.ns["h1"], "eth0")
    seen = host.receive(1, lambda p: p.type == LLDP)
    assert seen, "no LLDPDU"
    assert org_tlvs(seen[0])[CEE, 2] == (
        "020a" "0000" "00000001" "00000000"
        "0411" "0000" "8000" "012345ff" "1111111110100000" "08"
        "0606" "0000" "c000" "08" "08"
        "080a" "0000" "8000" "12b7" "01" "1b21" "08")


def test_peer_of_bytes(star, wire, wait_for):
    s, d = switch_of(star, pfc_willing=True, ets_willing=True)
    host = wire(s.ns["h1"], "eth0")
    host.send(lldpdu(org(IEEE, 11, "0820")))
    wait_for(lambda: pfc_of(dcbx(d, "h1")["operational"]) == [5], what="its PFC")
    # Malformed: left out, and what it said before counts no more.
    host.send(lldpdu(org(IEEE, 11, "08"), org(IEEE, 9, "00" + ETS_HEX)))
    wait_for(lambda: alarms(d, "h1") == {"malformed TLVs"}, what="the alarm")
    assert pfc_of(dcbx(d, "h1")["operational"]) == [3]
    # A second neighbour.
    host.send(lldpdu(org(IEEE, 11, "0820")), lldpdu(org(IEEE, 11, "0840"), mac="02:00:00:00:02:02"))
    wait_for(lambda: "multiple peers" in alarms(d, "h1"), what="two peers")
    assert pfc_of(dcbx(d, "h1")["operational"]) == [3]
    host.send(lldpdu(mac="02:00:00:00:02:02", ttl=0))
    wait_for(lambda: pfc_of(dcbx(d, "h1")["operational"]) == [5], what="the one that is left")
    # Its time runs out.
    host.send(lldpdu(org(IEEE, 11, "0820"), ttl=1))
    wait_for(lambda: dcbx(d, "h1")["peers"] == 0, what="the neighbour to age")
    assert pfc_of(dcbx(d, "h1")["operational"]) == [3]


def test_what_does_not_fit_is_not_applied(star, wire, wait_for):
    s = star(2)
    d = s.daemon({**PFC, "5": {"limit": "10KB"}},
                 tables={"lldp": {"enabled": True}, "dcbx": {"on": True, "pfc_willing": True}})
    host = wire(s.ns["h1"], "eth0")
    host.send(lldpdu(org(IEEE, 11, "0820")))
    wait_for(lambda: dcbx(d, "h1")["refused"], what="the refusal")
    assert "PFC of TC 5" in dcbx(d, "h1")["refused"]
    assert {p["state"] for p in d.ctl("show", "ports")["ports"]} == {"ATTACHED"}
    assert "not applied to the port" in d.run_ctl("show", "dcbx", "h1").stdout
    host.send(lldpdu(org(IEEE, 11, "0808")))
    wait_for(lambda: not dcbx(d, "h1")["refused"], what="what fits")
