# SPDX-License-Identifier: Apache-2.0
"""LLDP on real ports: two daemons on one wire, peers made by scapy, frames that are wrong, links that go."""

import os
import shutil
import struct
import tempfile
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether

NEAREST_BRIDGE = "01:80:c2:00:00:0e"
NON_TPMR = "01:80:c2:00:00:03"
CUSTOMER = "01:80:c2:00:00:00"
LLDP = 0x88CC
FAST = {"lldp": {"enabled": True, "interval_s": 1, "hold": 2, "system_name": "sw"}}


def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


def lldpdu(mac="02:00:00:00:01:01", port=b"eth0", ttl=120, more=b"", dst=NEAREST_BRIDGE, end=tlv(0, b"")):
    chassis = b"\4" + bytes.fromhex(mac.replace(":", ""))
    body = tlv(1, chassis) + tlv(2, b"\5" + port) + tlv(3, struct.pack("!H", ttl)) + more + end
    return bytes(Ether(src=mac, dst=dst, type=LLDP)) + body


def name(text):
    return tlv(5, text)


def neighbors(daemon, port):
    return daemon.ctl("show", "lldp", "neighbors", port)["neighbors"]


def statistics(daemon, port):
    row = daemon.ctl("show", "lldp", "statistics", port)["ports"][0]
    return {key: int(value) for key, value in row.items() if key != "port"}


def is_lldp(packet):
    return packet.type == LLDP


def ttl_of(packet):
    """TTL of a frame of ours: the third TLV."""
    body = bytes(packet)[14:]
    for _ in range(2):
        body = body[2 + (struct.unpack("!H", body[:2])[0] & 0x1FF):]
    return struct.unpack("!HH", body[:4])[1]


@pytest.fixture
def switch(star):
    s = star(2)
    return s, s.daemon(tables=FAST)


def test_two_daemons_see_each_other(sandbox, wait_for):
    a, b = sandbox.netns("a"), sandbox.netns("b")
    sandbox.veth((a, "left", "02:00:00:00:0a:01"), (b, "right", "02:00:00:00:0b:01"))
    sandbox.run(a, "ip", "addr", "add", "10.9.0.1/24", "dev", "left")
    tables = {"lldp": {"enabled": True, "system_name": "alpha"}}
    da = sandbox.daemon(a, ["left"], name="da", tables=tables)
    db = sandbox.daemon(b, ["right"], name="db", tables={"lldp": {"enabled": True, "system_name": "beta"}})
    wait_for(lambda: neighbors(da, "left") and neighbors(db, "right"), what="both to know each other")
    seen = neighbors(db, "right")[0]["packet"]
    assert (seen["chassis_id"], seen["port_id"], seen["system_name"]) == ("02:00:00:00:0a:01", "left", "alpha")
    assert seen["ttl_s"] == 121 and seen["management"][0]["address"] == "10.9.0.1"
    assert neighbors(da, "left")[0]["packet"]["system_name"] == "beta"
    text = db.run_ctl("show", "lldp").stdout
    assert "alpha" in text and "right" in text and "10.9.0.1" in text
    assert "beta" in db.run_ctl("show", "lldp", "local").stdout
    # What changes is said at once, not at the next interval.
    sandbox.run(a, "ip", "addr", "add", "10.9.0.77/24", "dev", "left")
    wait_for(lambda: len(neighbors(db, "right")[0]["packet"]["management"]) == 2, what="the new address")
    assert statistics(db, "right")["changes"] == 1
    # Switched off by a reload: the other is told.
    da.configure({}, [{"name": "left", "lldp": "off"}], tables=tables)
    da.run_ctl("reload")
    wait_for(lambda: not neighbors(db, "right"), what="the neighbour to be gone")
    assert statistics(db, "right")["ageouts"] == 0


def test_several_neighbours_and_all_three_addresses(switch, wire, wait_for):
    s, d = switch
    host = wire(s.ns["h1"], "eth0")
    groups = [NEAREST_BRIDGE, NON_TPMR, CUSTOMER]
    for i, group in enumerate(groups):
        host.send(lldpdu(mac=f"02:00:00:00:01:{i:02x}", more=name(b"host%d" % i), dst=group))
    wait_for(lambda: len(neighbors(d, "h1")) == 3, what="three neighbours")
    assert {n["packet"]["system_name"] for n in neighbors(d, "h1")} == {"host0", "host1", "host2"}
    assert neighbors(d, "h2") == []


def test_bridge_does_not_forward_lldp(switch, wire, wait_for):
    s, d = switch
    host, other = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    for i, group in enumerate([NEAREST_BRIDGE, NON_TPMR, CUSTOMER]):
        host.send(lldpdu(mac=f"02:00:00:00:01:{i:02x}", dst=group))
    host.send(bytes(Ether(src=s.mac("h1"), dst=s.mac("h2"), type=0x1234)) + bytes(46))  # the last to arrive
    ours, seen = [], []
    while not any(p.type == 0x1234 for p in seen):
        seen += other.receive(1)
        assert seen, "nothing is forwarded at all"
        ours += [p for p in seen[-1:] if is_lldp(p) and p.src.startswith("02:00:00:00:01")]
    assert ours == []
    wait_for(lambda: len(neighbors(d, "h1")) == 3, what="three neighbours")


def test_refresh_change_shutdown_and_ageing(switch, wire, wait_for):
    s, d = switch
    host = wire(s.ns["h1"], "eth0")
    host.send(lldpdu(more=name(b"one")), lldpdu(more=name(b"one")))
    wait_for(lambda: neighbors(d, "h1") and neighbors(d, "h1")[0]["frames"] == "2", what="two frames")
    assert statistics(d, "h1")["changes"] == 0
    host.send(lldpdu(more=name(b"two")))
    wait_for(lambda: neighbors(d, "h1")[0]["packet"]["system_name"] == "two", what="the change")
    assert statistics(d, "h1")["changes"] == 1
    host.send(lldpdu(ttl=0))
    wait_for(lambda: not neighbors(d, "h1"), what="the neighbour to be gone")
    host.send(lldpdu(ttl=1))
    wait_for(lambda: statistics(d, "h1")["ageouts"] == 1, what="the neighbour to age")
    assert neighbors(d, "h1") == []


BAD = {
    "empty": bytes(Ether(src="02:00:00:00:01:01", dst=NEAREST_BRIDGE, type=LLDP)).ljust(60, b"\0"),
    "length 0": lldpdu()[:14] + tlv(1, b"") + lldpdu()[23:],
    "length 511 beyond the frame": lldpdu(end=struct.pack("!H", 5 << 9 | 511) + b"x"),
    "cut": lldpdu(more=name(b"hostname"), end=b"")[:-3],
    "no TTL": lldpdu()[:14] + lldpdu()[14:30] + tlv(0, b""),
    "no port ID": lldpdu()[:23] + tlv(3, b"\0\x78") + tlv(0, b""),
    "TTL again": lldpdu(more=tlv(3, b"\0\x78")),
    "chassis ID again": lldpdu(more=tlv(1, b"\4\2\0\0\0\1\1")),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_frames_are_discarded_and_counted(switch, wire, wait_for, what):
    s, d = switch
    host = wire(s.ns["h1"], "eth0")
    host.send(BAD[what])
    wait_for(lambda: statistics(d, "h1")["frames_in_errors"] == 1, what=f"the frame with {what}")
    count = statistics(d, "h1")
    assert (count["frames_in"], count["frames_discarded"], count["neighbors"]) == (1, 1, 0)


def test_bad_tlvs_leave_the_frame(switch, wire, wait_for):
    s, d = switch
    host = wire(s.ns["h1"], "eth0")
    more = name(b"one") + name(b"two") + tlv(7, b"\0") + tlv(127, b"\0\x18") + tlv(9, b"x") + tlv(127, bytes(511))
    host.send(lldpdu(more=more))
    wait_for(lambda: neighbors(d, "h1"), what="the neighbour")
    assert neighbors(d, "h1")[0]["packet"]["system_name"] == "one"
    count = statistics(d, "h1")
    assert (count["tlvs_discarded"], count["tlvs_unrecognized"], count["frames_discarded"]) == (3, 1, 0)


def test_chassis_flood_is_bounded_and_does_not_touch_other_ports(star, wire, wait_for):
    s = star(2)
    d = s.daemon(tables={"lldp": {"enabled": True, "max_neighbors": 16}})
    flooder, honest = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    flooder.send(lldpdu(mac="02:00:00:00:99:99", more=name(b"first")))
    wait_for(lambda: neighbors(d, "h1"), what="the first neighbour")
    flooder.send(*[lldpdu(mac=f"02:00:00:05:{i >> 8:02x}:{i & 255:02x}") for i in range(2000)])
    honest.send(lldpdu(mac="02:00:00:00:22:22", more=name(b"honest")))
    wait_for(lambda: neighbors(d, "h2"), what="the neighbour on the other port")
    wait_for(lambda: statistics(d, "h1")["frames_in"] + statistics(d, "h1")["frames_lost"] == 2001, what="the flood")
    count = statistics(d, "h1")
    assert count["neighbors"] == 16 and count["full"] == 1
    assert count["drops"] + count["frames_lost"] == 2001 - 16
    assert "first" in {n["packet"]["system_name"] for n in neighbors(d, "h1")}
    assert statistics(d, "h2")["drops"] == 0
    assert "more are turned away" in d.log.read_text()


def test_link_down_and_up(switch, sandbox, wire, wait_for):
    s, d = switch
    host = wire(s.ns["h1"], "eth0")
    host.send(lldpdu())
    wait_for(lambda: neighbors(d, "h1"), what="the neighbour")
    sandbox.run(s.ns["h1"], "ip", "link", "set", "eth0", "down")
    wait_for(lambda: not neighbors(d, "h1"), what="the neighbour to be gone")
    before = statistics(d, "h1")["frames_out"]
    sandbox.run(s.ns["h1"], "ip", "link", "set", "eth0", "up")
    host = wire(s.ns["h1"], "eth0")  # the first still has the error of the link that went
    assert host.receive(1, is_lldp, limit_s=10), "nothing is sent after the link came up"
    host.send(lldpdu())
    wait_for(lambda: neighbors(d, "h1"), what="the neighbour again")
    assert statistics(d, "h1")["frames_out"] > before
    # The whole interface goes and comes back under its name.
    sandbox.run(s.switch, "ip", "link", "del", "h1")
    wait_for(lambda: d.ctl("show", "lldp", "neighbors")["neighbors"] == [], what="the port to be gone")
    sandbox.veth((s.ns["h1"], "eth0", s.mac("h1")), (s.switch, "h1", ""))
    wait_for(lambda: d.ctl("show", "lldp", "statistics", "h1")["ports"], what="the port again")
    again = wire(s.ns["h1"], "eth0")
    again.send(lldpdu())
    wait_for(lambda: neighbors(d, "h1"), what="the neighbour on the new port")


def test_detach_says_goodbye_and_the_end_of_the_daemon_does_not(star, wire, wait_for):
    s = star(2)
    d = s.daemon(tables=FAST)
    one, two = wire(s.ns["h1"], "eth0"), wire(s.ns["h2"], "eth0")
    assert ttl_of(one.receive(1, is_lldp)[0]) == 3
    d.run_ctl("detach", "h1")
    assert one.receive(1, lambda p: is_lldp(p) and ttl_of(p) == 0), "no shutdown LLDPDU"
    d.process.terminate()
    d.process.wait(20)
    assert not two.receive(1, lambda p: is_lldp(p) and ttl_of(p) == 0, limit_s=0.5)


def test_unknown_port_and_view(switch):
    _, d = switch
    done = d.run_ctl("show", "lldp", "neighbors", "eth9")
    assert done.returncode == 1 and "no port eth9; ports are h1, h2" in done.stderr
    done = d.run_ctl("show", "lldp", "neighbours", "h1")
    assert done.returncode == 2 and "views are" in done.stderr


@pytest.fixture
def open_folder():
    """lldpd looks at its socket without privileges: no folder of a test will do."""
    with tempfile.TemporaryDirectory(prefix="ll-lldpd-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(not (shutil.which("lldpd") or os.path.exists("/usr/sbin/lldpd")), reason="no lldpd")
def test_lldpd_is_a_neighbour(star, sandbox, wait_for, open_folder):
    s = star(1)
    d = s.daemon(tables=FAST)
    socket = open_folder / "lldpd.sock"
    sandbox.spawn(["lldpd", "-d", "-u", str(socket), "-I", "eth0", "-S", "a system of lldpd"],
                  netns=s.ns["h1"], log="lldpd.log")
    wait_for(lambda: neighbors(d, "h1"), limit_s=30, what="lldpd to be heard")
    seen = neighbors(d, "h1")[0]["packet"]
    assert seen["port_description"] == "eth0" and seen["system_description"] == "a system of lldpd"

    def heard():
        out = sandbox.run(s.ns["h1"], "lldpcli", "-u", str(socket), "-f", "keyvalue", "show", "neighbors")
        return "lldp.eth0.chassis.name=sw" in out and "lldp.eth0.port.ifname=h1" in out
    wait_for(heard, limit_s=30, what="lldpd to hear us")
