# SPDX-License-Identifier: Apache-2.0
"""DCB netlink with a driver that has it: the client alone, then losslessd on top of it."""

import subprocess
from pathlib import Path

import pytest

import dcbsim

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(scope="module", autouse=True)
def driver():
    dcbsim.load()
    yield
    dcbsim.unload()


def test_client_against_driver_and_iproute2(tools):
    """Each attribute reads back the same with `dcb -j`, and what dcb sets is read by us."""
    for kind in ("full", "cee", "pfc", "firmware", "plain"):
        dcbsim.run("ip", "link", "add", "name", kind, "type", "veth", "peer", "name", f"{kind}-peer")
        if kind != "plain":
            dcbsim.Port(None, kind, kind)
    done = subprocess.run([tools.build / "tests" / "vm" / "dcb_driver_test", "--gtest_brief=1"], check=False)
    for kind in ("full", "cee", "pfc", "firmware", "plain"):
        dcbsim.run("ip", "link", "delete", kind)
    assert done.returncode == 0


QUEUES = {"0": {"weight": 30}, "1": {"weight": 20}, "3": {"weight": 50, "lossless": True, "pfc": True, "limit": "3MB"},
          "2": {"schedule": "strict"}, "4": {"schedule": "strict"}, "5": {"schedule": "strict"}}


def part(daemon, port, name):
    found = {p["name"]: p for p in daemon.ctl("show", "dcb", port)["ports"][0]["parts"]}
    return found[name]


def settings(daemon, port):
    return daemon.ctl("show", "dcb", port)["ports"][0]["settings"]


def test_daemon_brings_the_driver_to_the_configuration(star):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "full")
    daemon = s.daemon(queues=QUEUES, port={"weights": "percent"})
    assert driver.dcb("pfc", "show")["prio_pfc"] == [i == 3 for i in range(8)]
    ets = driver.dcb("ets", "show")
    assert ets["tc_bw"] == [30, 20, 0, 50, 0, 0, 0, 0]
    assert ets["tc_tsa"] == ["ets", "ets", "strict", "ets", "strict", "strict", "strict", "strict"]
    assert ets["prio_tc"] == list(range(8))
    apps = driver.dcb("app", "show")
    assert [row[:2] for row in apps["dgram_port_prio"]] == [[4791, 3]]
    assert driver.dcb("apptrust", "show")["order"] == ["dscp"]
    ours = settings(daemon, "h1")
    assert ours["pfc"] == [3] and ours["share"] == ets["tc_bw"] and ours["priority_tc"] == ets["prio_tc"]
    assert {part(daemon, "h1", name)["state"] for name in ("pfc", "ets", "app", "apptrust")} == {"ok"}
    assert part(daemon, "h1", "pfc")["where"] == "both"
    assert part(daemon, "h2", "pfc")["where"] == "software"
    assert daemon.ctl("show", "dcb", "h2")["ports"][0]["reason"] == "the driver has no DCB"
    assert {row["where"] for row in daemon.ctl("show", "ets", "h1")["classes"]} == {"both"}

    # Nothing differs: nothing is written, by a reload or by another daemon.
    written = driver.writes()
    assert daemon.ctl("reload")["changes"] == []
    daemon.process.terminate()
    daemon.process.wait(30)
    daemon.start()
    daemon.wait_ready()
    assert part(daemon, "h1", "pfc")["state"] == "ok"
    assert driver.writes() == written


def test_what_others_change_is_shown_and_put_back(star, sandbox, wait_for):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "ieee")
    daemon = s.daemon(queues=QUEUES)
    driver.set("pfc", "set", "prio-pfc", "3:off", "5:on")
    wait_for(lambda: daemon.ctl("show", "dcb", "h1")["ports"][0]["put_back"] == "1", what="put back")
    shown = daemon.ctl("show", "dcb", "h1")["ports"][0]
    assert shown["foreign_changes"] == "1" and shown["last_foreign"] == "pfc is 5 instead of 3"
    assert driver.dcb("pfc", "show")["prio_pfc"] == [i == 3 for i in range(8)]

    # A program that insists is let be, and nobody goes in circles.
    insists = "while :; do dcb pfc set dev h1 prio-pfc 5:on; done"
    process = sandbox.spawn(["sh", "-c", insists], s.switch)
    wait_for(lambda: daemon.ctl("show", "dcb", "h1")["ports"][0]["let_be"], 60, what="let be")
    process.terminate()
    process.wait(30)
    shown = daemon.ctl("show", "dcb", "h1")["ports"][0]
    assert int(shown["put_back"]) < int(shown["foreign_changes"])
    assert part(daemon, "h1", "pfc")["state"] == "changed"

    daemon.ctl("detach", "--all")
    assert driver.dcb("pfc", "show")["prio_pfc"] == [False] * 8
    assert driver.dcb("ets", "show")["tc_bw"] == [0] * 8


def test_what_others_change_stays_where_configured(star, wait_for):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "ieee")
    daemon = s.daemon(queues=QUEUES, tables={"dcb": {"put_back": False}})
    written = driver.writes()
    driver.set("pfc", "set", "prio-pfc", "5:on")
    wait_for(lambda: daemon.ctl("show", "dcb", "h1")["ports"][0]["foreign_changes"] == "1", what="noticed")
    assert part(daemon, "h1", "pfc")["state"] == "changed"
    assert driver.writes() == written + 1


def test_what_a_driver_drops_is_reported(star):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "ieee")
    driver.lack("ets-shares", "apptrust")
    daemon = s.daemon(queues=QUEUES, port={"trust": "dot1p"})
    assert part(daemon, "h1", "ets")["state"] == "ignored"
    assert "instead of" in part(daemon, "h1", "ets")["why"]
    assert part(daemon, "h1", "apptrust")["state"] == "ignored"
    assert part(daemon, "h1", "pfc")["state"] == "ok"
    assert "did not do them" in daemon.log.read_text()


def test_impossible_is_refused_and_nothing_is_half_applied(star):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "pfc")  # PFC on 4 priorities at most, and no ETS
    lossless = {str(tc): {"lossless": True, "pfc": True, "limit": "3MB"} for tc in range(5)}
    daemon = s.daemon(queues=lossless)
    shown = daemon.ctl("show", "dcb", "h1")["ports"][0]
    assert shown["state"] == "refused" and "PFC on 5 priorities" in shown["reason"]
    assert driver.writes() == 0
    assert part(daemon, "h1", "ets")["where"] == "software"
    daemon.configure({"3": lossless["3"]}, [{"name": h} for h in s.hosts])
    daemon.ctl("reload")
    assert part(daemon, "h1", "pfc")["state"] == "ok"


def test_firmware_and_cee(star):
    s = star(2)
    firmware = dcbsim.Port(s.switch, "h1", "firmware")
    cee = dcbsim.Port(s.switch, "h2", "cee")
    daemon = s.daemon(queues=QUEUES, port={"weights": "percent"})
    assert daemon.ctl("show", "dcb", "h1")["ports"][0]["state"] == "firmware"
    assert firmware.writes() == 0
    shown = settings(daemon, "h2")
    assert shown["cee_on"] and shown["cee_pfc"] == [3]
    assert shown["cee_group"] == [0, 1, 15, 3, 15, 15, 15, 15] and shown["cee_group_share"] == [30, 20, 0, 50, 0, 0, 0, 0]
    assert part(daemon, "h2", "cee")["state"] == "ok" and cee.writes() > 0


def pfc_of(daemon, port, tc):
    return {q["tc"]: q for q in daemon.ctl("show", "pfc", port)["queues"]}[tc]


def test_what_a_nic_counts_is_shown_and_raises_alarms(star, sandbox, wait_for):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "full")
    daemon = s.daemon(queues=QUEUES, tables={"pfc_alarm": {"rx_raise_fps": 100, "rx_clear_fps": 10, "window_ms": 200, "hold_ms": 0}})
    before = int(pfc_of(daemon, "h1", 3)["rx_frames"])
    driver.set_pause_frames("rx", 3, 5)
    driver.set_pause_frames("tx", 3, 9)
    wait_for(lambda: int(pfc_of(daemon, "h1", 3)["rx_frames"]) == before + 5, what="frames counted by the NIC")
    assert pfc_of(daemon, "h1", 3)["tx_xoff"] == "9"
    assert settings(daemon, "h1")["pfc_received"][3] == "5"
    storm = "i=10; while sleep 0.05; do i=$((i + 1000)); echo $i > /sys/kernel/debug/dcbsim/h1/rx_prio3_pause; done"
    process = sandbox.spawn(["sh", "-c", storm])
    wait_for(lambda: daemon.ctl("show", "pfc", "h1")["ports"][0]["rx_alarm"], 30, what="the alarm")
    process.terminate()
    process.wait(30)
    wait_for(lambda: not daemon.ctl("show", "pfc", "h1")["ports"][0]["rx_alarm"], 30, what="its end")


def test_escape_reaches_the_nic(star, wait_for):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "full")
    daemon = s.daemon(queues=QUEUES)
    daemon.ctl("pfc", "escape", "on")
    wait_for(lambda: not any(driver.dcb("pfc", "show")["prio_pfc"]), what="PFC off in the NIC")
    daemon.ctl("pfc", "escape", "off")
    wait_for(lambda: driver.dcb("pfc", "show")["prio_pfc"][3], what="PFC on again")
    assert part(daemon, "h1", "pfc")["state"] == "ok"


def test_rates_and_rewriting(star):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "full")
    driver.set("maxrate", "set", "tc-maxrate", "1:5kbit")
    queues = {**QUEUES, "2": {"schedule": "strict", "max_rate": "50mbit"}}
    port = {"rewrite": "dscp", "maps": {"dscp_rewrite": [0, 8, 16, 26, 32, 40, 48, 56]}}
    daemon = s.daemon(queues=queues, port=port)
    assert settings(daemon, "h1")["max_kbps"] == ["0", "0", "50000", *["0"] * 5]
    assert [row[:2] for row in driver.dcb("rewr", "show")["prio_dscp"]] == [[p, p * 8 if p != 3 else 26] for p in range(8)]
    assert part(daemon, "h1", "maxrate")["state"] == part(daemon, "h1", "rewr")["state"] == "ok"
    assert "packets leave as they are" in part(daemon, "h2", "rewr")["why"]
    # No longer configured: as it was before.
    daemon.configure(QUEUES, [{"name": h} for h in s.hosts])
    daemon.ctl("reload")
    assert settings(daemon, "h1")["max_kbps"][:3] == ["0", "5", "0"]
    assert "prio_dscp" not in driver.dcb("rewr", "show")


def test_detach_goes_back_to_before_the_first_daemon(star):
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "full")
    driver.set("pfc", "set", "prio-pfc", "6:on")
    driver.set("app", "add", "dscp-prio", "10:2")
    before = [driver.dcb(part, "show") for part in ("pfc", "ets", "app", "apptrust")]
    daemon = s.daemon(queues=QUEUES)
    assert driver.dcb("pfc", "show")["prio_pfc"] == [i == 3 for i in range(8)]
    daemon.process.terminate()
    daemon.process.wait(30)
    daemon.start()
    daemon.wait_ready()
    daemon.ctl("detach", "--all")
    assert [driver.dcb(part, "show") for part in ("pfc", "ets", "app", "apptrust")] == before
    assert not list(Path("/run/lossless").glob("*"))


def test_a_port_that_is_left_out_goes_back(star):
    """Also where no daemon runs when the configuration changes, or when the datapath is given back."""
    s = star(2)
    driver = dcbsim.Port(s.switch, "h1", "full")
    daemon = s.daemon(queues=QUEUES)
    daemon.process.terminate()
    daemon.process.wait(30)
    assert driver.dcb("pfc", "show")["prio_pfc"][3]
    daemon.configure(QUEUES, [{"name": "h2"}])
    daemon.start()
    daemon.wait_ready()
    assert not any(driver.dcb("pfc", "show")["prio_pfc"])
    daemon.configure(QUEUES, [{"name": h} for h in s.hosts])
    daemon.ctl("reload")
    assert driver.dcb("pfc", "show")["prio_pfc"][3]
    daemon.process.kill()
    daemon.process.wait(30)
    assert daemon.run_ctl("--instance", daemon.instance, "detach", "--all").returncode == 0
    assert not any(driver.dcb("pfc", "show")["prio_pfc"])


def test_required_is_refused_where_there_is_none(star, wait_for):
    s = star(2)
    dcbsim.Port(s.switch, "h1", "full")
    ports = [{"name": "h1", "dcb": "required"}, {"name": "h2"}]
    daemon = s.daemon(queues=QUEUES, start=False)
    daemon.configure(QUEUES, ports)
    daemon.start()
    daemon.wait_ready()
    daemon.configure(QUEUES, [ports[0], {"name": "h2", "dcb": "required"}])
    done = daemon.run_ctl("reload")
    assert done.returncode != 0
    assert 'port h2: dcb = "required", and the driver (veth) has no DCB' in done.stderr
    assert daemon.ctl("show", "dcb", "h2")["ports"][0]["use"] == "auto", "nothing of it is applied"
    daemon.process.terminate()
    daemon.process.wait(30)
    daemon.start()
    assert daemon.process.wait(60) != 0
    assert 'has no DCB; allowed: "auto" or "off"' in daemon.log.read_text()


def test_agreed_applications_reach_the_driver(sandbox, wait_for):
    """Nothing else changes with them: no queue, no PFC."""
    a, b = sandbox.netns("a"), sandbox.netns("b")
    sandbox.veth((b, "spare", ""), (b, "other", ""))
    sandbox.veth((a, "left", ""), (b, "right", ""))
    driver = dcbsim.Port(a, "left", "ieee")
    lldp = {"lldp": {"enabled": True}}
    da = sandbox.daemon(a, ["left"], name="da", tables={**lldp, "dcbx": {"on": True, "app_willing": True}})
    entry = {"field": "udp", "protocol": 4791, "priority": 5}
    db = sandbox.daemon(b, ["right"], name="db", tables={**lldp, "dcbx": {"on": True}, "application": [entry]})
    wait_for(lambda: [row[:2] for row in driver.dcb("app", "show")["dgram_port_prio"]] == [[4791, 5]], 60, "the driver to have it")
    assert part(da, "left", "app")["state"] == "ok"
    db.process.terminate()
    db.process.wait(30)
    wait_for(lambda: [row[:2] for row in driver.dcb("app", "show")["dgram_port_prio"]] == [[4791, 3]], 60, "its own again")
