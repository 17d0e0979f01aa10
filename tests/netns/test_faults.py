# SPDX-License-Identifier: Apache-2.0
"""What must not hurt: a killed daemon, an upgrade, strangers on a port, bad files, full disks."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

TC = 3
PINS = Path("/sys/fs/bpf/lossless")


class Stream:
    """Numbered frames in TC 3 from h1 to h2, sent all the time by a thread, counted at the receiver."""

    def __init__(self, star, wire):
        packet = Ether(src=star.mac("h1"), dst=star.mac("h2")) / IP(tos=26 << 2) / UDP(sport=9, dport=9) / bytes(100)
        self._frame = bytes(packet)
        self._sender, self._receiver = wire(star.ns["h1"], "eth0"), wire(star.ns["h2"], "eth0")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.sent = 0

    def _send(self):
        while not self._end.is_set():
            self._sender.send(self._frame)
            self.sent += 1
            self._end.wait(0.0002)  # the pace of the stream

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def received(self, wait_for):
        """Frames that arrived, once no more come."""
        count = 0

        def all_there():
            nonlocal count
            count += self._receiver.drain()
            return count >= self.sent
        try:
            wait_for(all_there, limit_s=3)
        except TimeoutError:
            pass
        return count


def tc_counters(daemon, port):
    return {q["tc"]: (int(q["rx_packets"]), int(q["sent_packets"])) for q in daemon.ctl("show", "queues", port)["queues"]}


def program_ids(sandbox, netns):
    return sandbox.run(netns, "bpftool", "net", "show")


def start_stop_start(star, wire, wait_for, end):
    """A stream over the end and the next start of the daemon; the daemon after it, and the stream."""
    d = star.daemon()
    with Stream(star, wire) as stream:
        wait_for(lambda: stream.sent > 300, what="traffic under way")
        end(d)
        d.process.wait(timeout=10)
        at_end = stream.sent
        wait_for(lambda: stream.sent > at_end + 300, what="traffic without the daemon")
        d.start()
        d.wait_ready()
        at_start = stream.sent
        wait_for(lambda: stream.sent > at_start + 300, what="traffic after the start")
    return d, stream


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_the_daemon_ends_and_comes_back_without_a_packet_lost(star, sandbox, wire, wait_for, sig):
    s = star(2)
    d, stream = start_stop_start(s, wire, wait_for, lambda daemon: daemon.process.send_signal(sig))
    assert stream.received(wait_for) == stream.sent
    assert d.ctl("show", "version")["adopted"] is True
    # Not one packet passed unclassified, and the counters went on over the restart.
    h1, h2 = tc_counters(d, "h1"), tc_counters(d, "h2")
    assert h1[TC][0] == stream.sent and h2[TC][1] == stream.sent
    assert h1[0][0] == 0


def test_a_restart_exchanges_the_programs(star, sandbox):
    s = star(2)
    d = s.daemon()
    before = program_ids(sandbox, s.switch)
    d.process.kill()
    d.process.wait(timeout=10)
    assert program_ids(sandbox, s.switch) == before, "the datapath went with the daemon"
    d.start()
    d.wait_ready()
    assert program_ids(sandbox, s.switch) != before


def test_a_port_deleted_under_load_does_not_hurt_the_others(star, sandbox, wire, wait_for):
    s = star(3)
    d = s.daemon()
    with Stream(s, wire) as stream:
        wait_for(lambda: stream.sent > 200, what="traffic under way")
        sandbox.run(s.switch, "ip", "link", "del", "h3")
        wait_for(lambda: d.ctl("show", "ports", "h3")["ports"][0]["state"] == "ABSENT", what="h3 absent")
    assert stream.received(wait_for) == stream.sent
    with Stream(s, wire) as stream:
        wait_for(lambda: stream.sent > 200, what="traffic under way")
        sandbox.run(s.switch, "ip", "link", "del", "h2")
        wait_for(lambda: d.ctl("show", "ports", "h2")["ports"][0]["state"] == "ABSENT", what="h2 absent")
    d.check_alive()
    assert d.ctl("show", "ports", "h1")["ports"][0]["state"] == "ATTACHED"


def test_a_foreign_qdisc_is_refused_and_kept(star, sandbox):
    s = star(2)
    sandbox.run(s.switch, "tc", "qdisc", "add", "dev", "h1", "root", "handle", "7:", "pfifo", "limit", "50")
    d = sandbox.daemon(s.switch, ["h1", "h2"], start=False)
    d.start()
    port = wait_state(d, "h1", "REFUSED")
    assert "pfifo" in port["reason"]
    assert d.ctl("show", "ports", "h2")["ports"][0]["state"] == "ATTACHED"
    assert d.run_ctl("detach", "--all").returncode == 0
    assert "pfifo 7:" in sandbox.run(s.switch, "tc", "qdisc", "show", "dev", "h1")


def wait_state(daemon, port, state):
    from vethlab.waiting import wait_for

    def there():
        done = daemon.run_ctl("show", "ports", port, "--json")
        return done.returncode == 0 and f'"{state}"' in done.stdout
    wait_for(there, what=f"{port} {state}")
    return daemon.ctl("show", "ports", port)["ports"][0]


def test_a_second_daemon_on_an_instance_refuses(star, tools):
    s = star(2)
    d = s.daemon()
    second = subprocess.run([tools.path("losslessd"), "--config", d.config, "--netns", s.switch], text=True,
                            capture_output=True, timeout=20)
    assert second.returncode == 1
    assert len(second.stderr.splitlines()) == 1
    assert f"'{d.instance}' is already run by process {d.process.pid}" in second.stderr
    d.check_alive()
    assert d.ctl("show", "ports")["ports"][0]["state"] == "ATTACHED"


def test_two_instances_do_not_share_a_port(star, sandbox):
    s = star(3)
    one = sandbox.daemon(s.switch, ["h1", "h2"], name="one")
    two = sandbox.daemon(s.switch, ["h2", "h3"], name="two", start=False)
    two.start()
    assert one.instance in wait_state(two, "h2", "REFUSED")["reason"]
    assert wait_state(two, "h3", "ATTACHED")
    assert two.run_ctl("detach", "--all").returncode == 0
    assert all(p["state"] == "ATTACHED" for p in one.ctl("show", "ports")["ports"])


def test_instances_in_two_namespaces_do_not_disturb_each_other(star, sandbox, wire, wait_for):
    a, b = star(2), star(2, name="b")
    da, db = (sandbox.daemon(x.switch, ["h1", "h2"], name=n) for x, n in ((a, "a"), (b, "b")))
    with Stream(a, wire) as stream:
        wait_for(lambda: stream.sent > 200, what="traffic under way")
        assert db.run_ctl("detach", "--all").returncode == 0
    assert stream.received(wait_for) == stream.sent
    assert tc_counters(da, "h1")[TC][0] == stream.sent


@pytest.mark.parametrize("alive", [True, False])
def test_detach_all_leaves_nothing(star, sandbox, tools, alive):
    s = star(2)
    before = sandbox.run(s.switch, "tc", "qdisc", "show")
    d = s.daemon()
    if not alive:
        d.process.kill()
        d.process.wait(timeout=10)
    done = subprocess.run([tools.path("losslessctl"), "--instance", d.instance, "--socket", d.socket, "detach", "--all",
                           "--netns", s.switch], text=True, capture_output=True, timeout=20)
    assert done.returncode == 0, done.stderr
    if alive:
        assert d.process.wait(timeout=10) == 0
    assert not (PINS / d.instance).exists()
    assert not (Path("/run/lossless") / d.instance).exists()
    assert sandbox.run(s.switch, "tc", "qdisc", "show") == before
    assert "ll_" not in program_ids(sandbox, s.switch)


def test_detach_in_the_wrong_namespace_is_refused(star, tools):
    s, other = star(2), star(2, name="other")
    d = s.daemon()
    d.process.kill()
    d.process.wait(timeout=10)
    done = subprocess.run([tools.path("losslessctl"), "--instance", d.instance, "--socket", d.socket, "detach", "--all",
                           "--netns", other.switch], text=True, capture_output=True, timeout=20)
    assert done.returncode == 1 and "another network namespace" in done.stderr
    assert (PINS / d.instance / "links").exists()


def test_an_instance_of_another_namespace_is_not_taken_over(star, tools):
    s, other = star(2), star(2, name="other")
    d = s.daemon()
    d.process.kill()
    d.process.wait(timeout=10)
    second = subprocess.run([tools.path("losslessd"), "--config", d.config, "--netns", other.switch], text=True,
                            capture_output=True, timeout=20)
    assert second.returncode == 1 and "another network namespace" in second.stderr


def test_reload_applies_the_difference_and_a_bad_file_nothing(star, sandbox):
    s = star(2)
    d = s.daemon(queues={str(TC): {"limit": "300KB"}})
    programs = program_ids(sandbox, s.switch)
    d.config.write_text(d.config.read_text().replace("300KB", "400KB"))
    assert [c["path"] for c in d.ctl("config", "diff")["changes"]] == [f"port.{h}.queue.3.limit" for h in ("h1", "h2")]
    changes = d.ctl("reload")["changes"]
    assert [(c["running"], c["file"]) for c in changes] == [('"300KB"', '"400KB"')] * 2
    assert "limit 400000b" in sandbox.run(s.switch, "tc", "qdisc", "show", "dev", "h1", "handle", "4c04:")
    assert program_ids(sandbox, s.switch) == programs
    assert d.ctl("reload").get("changes", []) == []

    good = d.config.read_text()
    d.config.write_text(good.replace("400KB", "-1"))
    done = d.run_ctl("reload")
    assert done.returncode == 1 and f"{d.config}:" in done.stderr and "limit" in done.stderr
    assert "limit 400000b" in sandbox.run(s.switch, "tc", "qdisc", "show", "dev", "h1", "handle", "4c04:")
    d.config.write_text(good.replace(d.instance, "other"))
    assert "instance" in d.run_ctl("reload").stderr


def test_reload_adds_and_removes_ports(star, sandbox, wait_for):
    s = star(3)
    d = sandbox.daemon(s.switch, ["h1", "h2"])
    queues = {str(TC): {"limit": "300KB"}}
    d.configure(queues, [{"name": "h2"}, {"name": "h3"}])
    os.kill(d.process.pid, signal.SIGHUP)
    wait_for(lambda: [p["name"] for p in d.ctl("show", "ports")["ports"]] == ["h2", "h3"], what="the new ports")
    assert {p["state"] for p in d.ctl("show", "ports")["ports"]} == {"ATTACHED"}
    assert "4c00:" not in sandbox.run(s.switch, "tc", "qdisc", "show", "dev", "h1")


def test_a_full_disk_for_the_socket_is_said(star, sandbox, tools):
    s = star(2)
    full = sandbox.path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "full", full], check=True)
    try:
        d = sandbox.daemon(s.switch, ["h1"], start=False)
        d.config.write_text(d.config.read_text().replace(str(d.socket), str(full / "api.sock")))
        done = subprocess.run([tools.path("losslessd"), "--config", d.config, "--netns", s.switch], text=True,
                              capture_output=True, timeout=20)
    finally:
        subprocess.run(["umount", full], check=True)
    assert done.returncode == 1
    assert "api.sock" in done.stderr and "No space left" in done.stderr
    assert "4c00:" not in sandbox.run(s.switch, "tc", "qdisc", "show", "dev", "h1"), "half a start"
    assert not (PINS / d.instance).exists() and not (Path("/run/lossless") / d.instance).exists()


def test_something_else_in_the_place_of_the_socket(star, sandbox, tools):
    s = star(2)
    d = sandbox.daemon(s.switch, ["h1"], start=False)
    d.socket.write_text("precious")
    done = subprocess.run([tools.path("losslessd"), "--config", d.config, "--netns", s.switch], text=True,
                          capture_output=True, timeout=20)
    assert done.returncode == 1 and "no socket" in done.stderr
    assert d.socket.read_text() == "precious"
    d.socket.unlink()


@pytest.mark.parametrize("group", ["daemon", "1"])
def test_socket_has_owner_and_mode(star, sandbox, group):
    s = star(2)
    d = sandbox.daemon(s.switch, ["h1"], start=False)
    d.config.write_text(d.config.read_text().replace("[api]\n", '[api]\ngroup = "' + group + '"\nmode = "0640"\n'))
    d.start()
    d.wait_ready()
    st = d.socket.stat()
    assert st.st_mode & 0o777 == 0o640 and st.st_gid == 1 and st.st_uid == 0


@pytest.mark.parametrize("text,says", [
    ("rate = nan", "nan"), ("rate = -5", "-5"), ("rate = 1e300", "rate"), ("priority = 99999999999999", "priority"),
    ('trsut = "dscp"', "trust"),
])
def test_bad_values_end_the_start_with_file_line_and_column(star, sandbox, tools, text, says):
    s = star(2)
    d = sandbox.daemon(s.switch, ["h1"], start=False)
    lines = d.config.read_text().rstrip("\n").splitlines() + [text]
    d.config.write_text("\n".join(lines) + "\n")
    done = subprocess.run([tools.path("losslessd"), "--config", d.config, "--netns", s.switch], text=True,
                          capture_output=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{d.config}:{len(lines)}:") and says in done.stderr, done.stderr


def test_wrong_arguments(tools):
    for words, code in ((["--config"], 2), (["--nonsense"], 2), (["--config", "/nonexistent"], 1), (["--version"], 0)):
        done = subprocess.run([tools.path("losslessd"), *words], text=True, capture_output=True, timeout=20)
        assert done.returncode == code, (words, done.stderr)
        assert done.stdout or done.stderr
