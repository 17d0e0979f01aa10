# SPDX-License-Identifier: Apache-2.0
"""Host mode with real Soft-RoCE: two rxe devices across a bridge, whose switch and whose host losslessd runs.

    h0 10.0.0.1 (rxe0) --- s0 [namespace sw: br0, losslessd] s1 --- h1 10.0.0.2 (rxe1)

rxe lives in the initial namespace only, so both hosts are there, and rules keep Linux from taking the short cut.
"""

import re
import subprocess
import time
from pathlib import Path

import pytest

from vethlab import processes

pytestmark = pytest.mark.usefixtures("nothing_left")

TCLASS = 26 << 2 | 2  # DSCP 26, ECT(0)
SETTLE_S, WINDOW_S = 180, 2.0  # emulation is slow, on a busy machine very
# For some 100 Mbit/s in emulation: the defaults are made for 25 Gbit/s and more.
SLOW = {"rpg_ai_rate": "1mbit", "rpg_hai_rate": "2mbit", "rpg_min_rate": "20mbit", "rpg_time_reset": 10000, "rpg_byte_reset": 0}
HOST = {"": {"role": "host"}, "dcqcn": {"enabled": True, **SLOW}}
OFF = {"": {"role": "host"}}
PORTS = [{"name": "h0", "rate": "400mbit"}, {"name": "h1", "rate": "400mbit"}]

RULES = """
rule add pref 1 iif h0 lookup local
rule add pref 2 iif h1 lookup local
rule add pref 3 to 127.0.0.0/8 lookup local
rule del pref 0
route add 10.0.0.0/24 dev h0 table 100
route add 10.0.0.0/24 dev h1 table 101
rule add pref 10 from 10.0.0.1 lookup 100
rule add pref 11 from 10.0.0.2 lookup 101
rule add pref 12 oif h0 lookup 100
rule add pref 13 oif h1 lookup 101
"""


def run(*command, check=True):
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0 or not check, f"{' '.join(command)}: {done.stderr}{done.stdout}"
    return done.stdout


class Rxe:
    """The devices, and traffic between them."""

    def __init__(self, sandbox, wait_for):
        self._sandbox, self._wait_for, self._users = sandbox, wait_for, []
        self.sw = sandbox.netns("sw")
        run("modprobe", "-a", "rdma_rxe", "rdma_ucm", "ib_uverbs")
        for i in (0, 1):
            run("ip", "link", "add", f"h{i}", "mtu", "4300", "type", "veth", "peer", "name", f"s{i}", "mtu", "4300", "netns", self.sw)
            run("ip", "link", "set", f"h{i}", "address", f"02:00:00:00:00:1{i}", "up")
            run("ip", "-n", self.sw, "link", "set", f"s{i}", "up")
            run("ip", "address", "add", f"10.0.0.{i + 1}/24", "dev", f"h{i}")
            run("sysctl", "-qw", f"net.ipv4.conf.h{i}.rp_filter=0", f"net.ipv4.conf.h{i}.accept_local=1",
                f"net.ipv4.conf.h{i}.arp_ignore=1", f"net.ipv4.conf.h{i}.arp_announce=2", "net.ipv4.conf.all.rp_filter=0")
        for i in (0, 1):
            run("ip", "neigh", "replace", f"10.0.0.{2 - i}", "lladdr", f"02:00:00:00:00:1{1 - i}", "dev", f"h{i}")
        for rule in RULES.strip().splitlines():
            run("ip", *rule.split())
        sandbox.bridge(self.sw, ["s0", "s1"])
        for i in (0, 1):
            run("rdma", "link", "add", f"rxe{i}", "type", "rxe", "netdev", f"h{i}")

    def spawn(self, command, log):
        """A process that uses a device; it ends before the devices do."""
        self._users.append(self._sandbox.spawn(command, log=log))
        return self._users[-1]

    def write_bw(self, seconds, qps=1):
        """ib_write_bw from h0 to h1; the client's process. Slow packets need a long timeout: 2 s."""
        common = ["-x", "1", f"--tclass={TCLASS}", "-D", str(seconds), "-s", "65536", "-u", "19", "-q", str(qps), "-F"]
        self.spawn(["ib_write_bw", "-d", "rxe1", *common], "server.log")

        def connected():
            client = self.spawn(["ib_write_bw", "-d", "rxe0", *common, "10.0.0.2"], "client.log")
            self._wait_for(lambda: client.poll() is not None or sent_bytes() > before + 1_000_000, SETTLE_S, "RDMA writes")
            return client if client.poll() is None else None

        before = sent_bytes()
        return self._wait_for(connected, SETTLE_S, "a connected client", every_s=0.5)

    def mark_everything(self, on):
        """All that h0 sends gets CE on its way: as a switch does whose queue is never short."""
        if not on:
            run("tc", "-n", self.sw, "filter", "del", "dev", "s0", "ingress")
            return
        run("tc", "-n", self.sw, "qdisc", "replace", "dev", "s0", "clsact")
        run("tc", "-n", self.sw, "filter", "add", "dev", "s0", "ingress", "protocol", "ip", "u32",
            "match", "ip", "protocol", "17", "0xff", "match", "ip", "dport", "4791", "0xffff",
            "action", "pedit", "ex", "munge", "ip", "tos", "set", "0x03", "retain", "0x03", "pipe", "action", "csum", "ip4h")

    def stop(self):
        while self._users:
            processes.stop(self._users.pop())

    def close(self):
        self.stop()  # a device in use cannot go
        for i in (0, 1):
            run("rdma", "link", "delete", f"rxe{i}", check=False)
            run("ip", "link", "del", f"h{i}", check=False)
        run("ip", "rule", "add", "pref", "0", "lookup", "local", check=False)
        for pref in ("1", "2", "3", "10", "11", "12", "13"):
            run("ip", "rule", "del", "pref", pref, check=False)


def sent_bytes():
    return int(Path("/sys/class/net/h0/statistics/tx_bytes").read_text())


def rate_mbps():
    before, began = sent_bytes(), time.monotonic()
    time.sleep(WINDOW_S)  # a measurement needs its time
    return (sent_bytes() - before) * 8 / (time.monotonic() - began) / 1e6


def port_of(daemon, name):
    return next(p for p in daemon.ctl("show", "dcqcn")["ports"] if p["port"] == name)


def change(daemon, tables):
    daemon.configure({}, PORTS, tables=tables)
    done = daemon.run_ctl("reload")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def rxe(sandbox, wait_for):
    devices = None
    try:
        devices = Rxe(sandbox, wait_for)
        yield devices
    finally:
        if devices:
            devices.close()


def test_marks_slow_soft_roce_down_and_it_recovers(rxe, sandbox, wait_for):
    sandbox.daemon(rxe.sw, ["s0", "s1"], {"3": {"lossless": True}})
    host = sandbox.daemon(None, PORTS, name="host", tables=OFF)
    rxe.write_bw(3000)
    free = rate_mbps()
    rxe.mark_everything(True)
    # What marks costs time, too, and the machine may be busy for a moment; but nothing reacts to marks.
    unmoved = wait_for(lambda: (r := rate_mbps()) > free * 0.4 and r, SETTLE_S, "the same rate without host mode")
    print(f"free {free:.1f} Mbit/s, marked without host mode {unmoved:.1f} Mbit/s")
    assert port_of(host, "h1")["np_ecn_marked_roce_packets"] == "0"
    rxe.stop()

    change(host, HOST)
    assert run("tc", "qdisc", "show", "dev", "h0").count("qdisc fq ") == 8
    traffic = rxe.write_bw(3000)
    wait_for(lambda: int(port_of(host, "h0")["rp_cnp_handled"]) > 10, SETTLE_S, "CNPs")
    slow = wait_for(lambda: (r := rate_mbps()) < unmoved * 0.4 and r, SETTLE_S, "a rate cut by CNPs")
    shown = host.ctl("show", "dcqcn")
    qp = max(shown["qps"], key=lambda q: q["cuts"])
    assert qp["cuts"] > 0 and int(qp["rate_bps"]) < int(qp["line_bps"]) and int(qp["paced"]) > 0
    assert shown["rp"] and shown["known_qps"] >= 2
    # The verbs tools' own word on who is connected to whom.
    pairs = {(int(l), int(r)) for l, r in re.findall(r"lqpn (\d+) rqpn (\d+)", run("rdma", "resource", "show", "qp", "link", "rxe0"))}
    assert (qp["qpn"], qp["peer_qpn"]) in pairs

    rxe.mark_everything(False)
    back = wait_for(lambda: (r := rate_mbps()) > unmoved * 0.8 and r, SETTLE_S, "recovery")
    assert traffic.poll() is None, "no QP broke"
    np = port_of(host, "h1")
    assert np["np_no_carrier"] == "0" and np["np_ecn_marked_roce_packets"] != "0"
    print(f"with host mode: marked {slow:.1f} Mbit/s, marks gone {back:.1f} Mbit/s; {np}")

    change(host, OFF)
    wait_for(lambda: "qdisc fq " not in run("tc", "qdisc", "show", "dev", "h0"), 10, "plain FIFOs again")
