# SPDX-License-Identifier: Apache-2.0
"""BFD on real links: two daemons, FRR's bfdd and BIRD as neighbours, packets made by hand."""

import os
import shutil
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from vethlab.namespaces import in_namespace

FAST = {"transmit_ms": 50, "receive_ms": 50, "multiplier": 3}
FRR = Path("/usr/lib/frr")
A, B = "10.8.0.1", "10.8.0.2"
A6, B6 = "fd00:8::1", "fd00:8::2"


def peers(daemon, *more):
    return daemon.ctl("show", "bfd", "peers", *more)["peers"]


def peer(daemon, address):
    return peers(daemon, address)[0]


def is_up(daemon, address):
    return peer(daemon, address)["state"] == "up"


class Link:
    """Two namespaces with a veth between them: `left` in a, `right` in b."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.a, self.b = sandbox.netns("a"), sandbox.netns("b")
        sandbox.veth((self.a, "left", ""), (self.b, "right", ""))
        for netns, dev, v4, v6 in ((self.a, "left", A, A6), (self.b, "right", B, B6)):
            sandbox.run(netns, "sysctl", "-qw", f"net.ipv6.conf.{dev}.disable_ipv6=0")
            sandbox.run(netns, "ip", "addr", "add", f"{v4}/24", "dev", dev)
            sandbox.run(netns, "ip", "addr", "add", f"{v6}/64", "dev", dev, "nodad")

    def daemon(self, side, peer_tables, bfd=None, profiles=()):
        netns, dev = (self.a, "left") if side == "a" else (self.b, "right")
        tables = {"bfd": {**FAST, **(bfd or {})}}
        d = self.sandbox.daemon(netns, [dev], name=f"d{side}", tables=tables, start=False)
        with d.config.open("a") as file:
            for table, rows in (("bfd_profile", profiles), ("bfd_peer", peer_tables)):
                for row in rows:
                    file.write(f"\n[[{table}]]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in row.items()))
        d.start()
        d.wait_ready()
        return d

    def silence(self, on=True):
        """losslessd in b cannot reach a over IPv4, though both links stay up and it hears a."""
        self.sandbox.run(self.b, "ip", "route", "add" if on else "del", "blackhole", f"{A}/32")


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f'"{value}"'


@pytest.fixture
def link(sandbox):
    return Link(sandbox)


def test_two_daemons(link, wait_for):
    da = link.daemon("a", [{"address": B}, {"address": B6}])
    db = link.daemon("b", [{"address": A}, {"address": A6}])
    wait_for(lambda: all(is_up(da, x) for x in (B, B6)) and all(is_up(db, x) for x in (A, A6)), what="four sessions")
    wait_for(lambda: not peer(da, B)["polling"], what="the Poll Sequence to end")
    row = peer(da, B)
    assert (row["transmit_us"], row["detection_us"], row["owners"]) == (50000, "150000", ["static"])
    assert row["remote"]["required_min_rx_us"] == 50000
    text = da.run_ctl("show", "bfd").stdout
    assert B in text and "up" in text and "150ms" in text
    assert B6 in da.run_ctl("show", "bfd", "counters").stdout
    assert "no BFD peer 10.8.0.9" in da.run_ctl("show", "bfd", "10.8.0.9").stderr
    assert "is no address" in da.run_ctl("show", "bfd", "eth0").stderr

    link.silence()
    wait_for(lambda: not is_up(da, B), what="the failure")
    assert peer(da, B)["last_down"] == "detection time expired"
    wait_for(lambda: peer(db, A)["last_down"] == "neighbour signalled down", what="b to be told")
    assert "BFD: 10.8.0.2 is down: detection time expired" in da.log.read_text()
    link.silence(False)
    wait_for(lambda: is_up(da, B) and is_up(db, A), what="the session again")
    counters = peer(da, B)["counters"]
    assert (counters["went_up"], counters["went_down"]) == ("2", "1")


def test_daemon_that_ends_says_so(link, wait_for):
    da = link.daemon("a", [{"address": B}])
    db = link.daemon("b", [{"address": A}])
    wait_for(lambda: is_up(da, B) and is_up(db, A), what="the session")
    db.process.terminate()
    db.process.wait(10)
    wait_for(lambda: not is_up(da, B), what="the goodbye")
    assert peer(da, B)["last_down"] == "taken down by the neighbour's administrator"
    assert "BFD: 10.8.0.2 is down: taken down" in da.log.read_text()
    db.start()
    wait_for(lambda: is_up(da, B), what="the session of the next daemon")


def test_reload_changes_times_without_a_flap(link, wait_for):
    da = link.daemon("a", [{"address": B}])
    db = link.daemon("b", [{"address": A}])
    wait_for(lambda: is_up(da, B) and is_up(db, A), what="the session")
    text = da.config.read_text()
    da.config.write_text(text.replace("transmit_ms = 50", "transmit_ms = 200"))
    assert da.run_ctl("reload").returncode == 0
    wait_for(lambda: peer(db, A)["detection_us"] == "600000", what="the longer time to be agreed on")
    assert peer(db, A)["counters"]["went_down"] == "0"
    da.config.write_text(text.replace(f'address = "{B}"', f'address = "{B}"\nshutdown = true'))
    assert da.run_ctl("reload").returncode == 0
    wait_for(lambda: peer(db, A)["state"] == "down", what="the shutdown")
    assert peer(da, B)["state"] == "admin-down"
    da.config.write_text(text.split("\n[[bfd_peer]]")[0])
    assert da.run_ctl("reload").returncode == 0
    assert peers(da) == []


@pytest.mark.parametrize("auth", ["simple", "keyed-md5", "meticulous-md5", "keyed-sha1", "meticulous-sha1"])
def test_authentication(link, wait_for, auth):
    key = {"auth": auth, "key": "correct horse"[:7]}
    da = link.daemon("a", [{"address": B}, {"address": B6}], bfd=key)
    # The session over IPv6 has another key.
    db = link.daemon("b", [{"address": A}, {"address": A6, "profile": "wrong"}], bfd=key,
                     profiles=[{"name": "wrong", "key": "battery"}])
    wait_for(lambda: is_up(da, B) and is_up(db, A), what="the session")
    wait_for(lambda: int(peer(db, A6)["counters"]["bad_authentication"]) > 1, what="packets to be refused")
    assert peer(da, B6)["state"] == "down"
    assert peer(da, B)["authentication"] == auth


def test_link_local_and_multihop(link, sandbox, wait_for):
    def local(netns, dev):
        out = sandbox.run(netns, "ip", "-6", "-o", "addr", "show", "dev", dev, "scope", "link")
        return out.split("inet6 ")[1].split("/")[0] if "inet6" in out and "tentative" not in out else ""

    wait_for(lambda: local(link.a, "left") and local(link.b, "right"), what="link-local addresses")
    la, lb = local(link.a, "left"), local(link.b, "right")
    sandbox.run(link.a, "ip", "addr", "add", "10.99.0.1/32", "dev", "lo")
    sandbox.run(link.a, "ip", "link", "set", "lo", "up")
    sandbox.run(link.b, "ip", "route", "add", "10.99.0.1/32", "via", A)
    da = link.daemon("a", [{"address": lb, "interface": "left"},
                           {"address": B, "local": "10.99.0.1", "multihop": True}])
    db = link.daemon("b", [{"address": la, "interface": "right"},
                           {"address": "10.99.0.1", "multihop": True, "min_ttl": 254}])
    wait_for(lambda: is_up(da, lb) and is_up(da, B), what="both sessions")
    wait_for(lambda: is_up(db, la) and is_up(db, "10.99.0.1"), what="both sessions at the other end")


def test_what_does_not_belong_is_counted(link, wait_for):
    da = link.daemon("a", [{"address": B}])

    def make():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((B, 0))
        return s
    s = in_namespace(link.b, make)

    def packet(state=1, my=1, your=0, flags=0, mult=3):
        return struct.pack("!BBBBIIIII", 0x20, state << 6 | flags, mult, 24, my, your, 50000, 50000, 0)
    to = (A, 3784)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 254)
    s.sendto(packet(), to)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
    s.sendto(packet(your=4242), to)
    for bad in (b"", packet()[:23], packet(mult=0), packet(my=0), packet(state=3), packet(flags=1)):
        s.sendto(bad, to)

    def strays():
        return da.ctl("show", "bfd", "counters")["strays"]
    wait_for(lambda: sum(int(v) for v in strays()["malformed"].values()) == 6, what="six malformed packets")
    assert (strays()["far"], strays()["unknown"]) == ("1", "1")
    assert peer(da, B)["state"] == "down" and peer(da, B)["counters"]["in"] == "0"
    s.sendto(packet(), to)
    wait_for(lambda: peer(da, B)["state"] == "init", what="the good one")
    s.close()


class Frr:
    """zebra and bfdd in a namespace, from their files in the sandbox."""

    def __init__(self, sandbox, netns, config):
        self.folder = Path(sandbox.path) / "frr"
        self.folder.mkdir()
        shutil.chown(self.folder, "frr", "frr")
        os.chmod(sandbox.path, 0o755)
        (self.folder / "frr.conf").write_text(config)
        for daemon in ("zebra", "bfdd"):
            command = [FRR / daemon, "-f", self.folder / "frr.conf", "-i", self.folder / f"{daemon}.pid",
                       "-z", self.folder / "zserv.api", "--vty_socket", self.folder, "-A", "127.0.0.1", "-P", "0"]
            if daemon == "bfdd":
                command += ["--bfdctl", self.folder / "bfdd.sock"]
            self.bfdd = sandbox.spawn([str(word) for word in command], netns=netns, log=f"{daemon}.log")

    def show(self):
        done = subprocess.run(["vtysh", "--vty_socket", str(self.folder), "-d", "bfdd", "-c", "show bfd peers"],
                              text=True, capture_output=True, check=False, timeout=20)
        return done.stdout + done.stderr


def test_frr(link, sandbox, wait_for):
    frr = Frr(sandbox, link.b, f"""
bfd
 profile fast
  transmit-interval 50
  receive-interval 50
  detect-multiplier 3
 !
 peer {A} interface right
  profile fast
 !
 peer {A6} local-address {B6} interface right
  profile fast
 !
""")
    da = link.daemon("a", [{"address": B}, {"address": B6}])
    wait_for(lambda: is_up(da, B) and is_up(da, B6), limit_s=20, what="sessions with bfdd")
    wait_for(lambda: frr.show().count("Status: up") == 2, what="bfdd to see both up")
    wait_for(lambda: peer(da, B)["detection_us"] == "150000" and peer(da, B)["transmit_us"] == 50000, what="50 ms x 3")
    assert "50ms" in frr.show()
    frr.bfdd.send_signal(signal.SIGSTOP)
    wait_for(lambda: not is_up(da, B), what="the failure")
    assert peer(da, B)["last_down"] == "detection time expired"
    frr.bfdd.send_signal(signal.SIGCONT)
    wait_for(lambda: is_up(da, B), limit_s=20, what="the session again")
    da.process.terminate()
    da.process.wait(10)
    wait_for(lambda: frr.show().count("Status: down") == 2, what="bfdd to see them down")


BIRD = """
router id 10.8.0.2;
protocol device { }
protocol bfd {
  interface "right" { interval 50 ms; multiplier 3; %s };
  neighbor %s dev "right" local %s;
  neighbor %s dev "right" local %s;
}
"""


@pytest.mark.parametrize("auth", ["none", "simple", "keyed-md5", "meticulous-md5", "keyed-sha1", "meticulous-sha1"])
def test_bird(link, sandbox, wait_for, auth):
    theirs = "" if auth == "none" else (
        f'authentication {auth.replace("-", " ").replace("us ", "us keyed ")}; password "secret7" {{ id 3; }};')
    ours = {} if auth == "none" else {"auth": auth, "key": "secret7", "key_id": 3}
    config, control = Path(sandbox.path) / "bird.conf", Path(sandbox.path) / "bird.ctl"
    config.write_text(BIRD % (theirs, A, B, A6, B6))
    bird = sandbox.spawn(["bird", "-f", "-c", str(config), "-s", str(control), "-P", str(control) + ".pid"], netns=link.b,
                  log="bird.log")

    def show():
        done = subprocess.run(["birdc", "-s", str(control), "show", "bfd", "sessions"], text=True,
                              capture_output=True, check=False, timeout=20)
        return done.stdout
    da = link.daemon("a", [{"address": B}, {"address": B6}], bfd=ours)
    wait_for(lambda: is_up(da, B) and is_up(da, B6), limit_s=20, what="sessions with BIRD")
    wait_for(lambda: show().count(" Up ") == 2, what="BIRD to see both up")
    wait_for(lambda: peer(da, B)["detection_us"] == "150000" and peer(da, B)["transmit_us"] == 50000, what="50 ms x 3")
    bird.send_signal(signal.SIGSTOP)
    wait_for(lambda: not is_up(da, B), what="the failure")
    assert peer(da, B)["last_down"] == "detection time expired"
    assert peer(da, B)["counters"]["bad_authentication"] == "0"
