# SPDX-License-Identifier: Apache-2.0
"""DCBX with lldpad at the other end of the wire: the ends agree, and each end's driver has what was agreed on.

lldpad reads CEE, but does not speak it on a driver that has IEEE as well: it falls silent when it hears CEE alone. So
of CEE it is compared what lldpad reads."""

import subprocess

import pytest

import dcbsim
from lldpad import Lldpad
from test_dcbx import PFC, alarms, dcbx, pfc_of

pytestmark = pytest.mark.usefixtures("nothing_left")

LLDP = 0x88CC
LIMIT_S = 40  # lldpad says its first word within 30 s
WILLING = {"ets_willing": True, "pfc_willing": True, "app_willing": True}
SHARES = {0: 20, 1: 20, 3: 60}
OURS = {**PFC, "0": {"weight": 30}, "1": {"weight": 20}, "3": {"weight": 50, **PFC["3"]}, "2": {"schedule": "strict"},
        "4": {"schedule": "strict"}, "5": {"schedule": "strict"}}
OUR_SHARES = [30, 20, 0, 50, 0, 0, 0, 0]


@pytest.fixture(scope="module", autouse=True)
def driver():
    dcbsim.load()
    yield
    dcbsim.unload()


@pytest.fixture
def pair(sandbox, wire, wait_for, tools):
    """make(settings) -> (our daemon, its driver, lldpad, its driver). Afterwards, all that lldpad has sent must
    decode and be encoded byte for byte."""
    a, b = sandbox.netns("a"), sandbox.netns("b")
    sandbox.veth((b, "spare", ""), (b, "other", ""))  # the kernel keeps APP by ifindex, whatever the namespace
    sandbox.veth((a, "left", "02:00:00:00:0a:01"), (b, "right", "02:00:00:00:0b:01"))
    ends = dcbsim.Port(a, "left", "full"), dcbsim.Port(b, "right", "full")
    heard = wire(a, "left")

    def make(**settings):
        daemon = sandbox.daemon(a, ["left"], OURS, tables={"lldp": {"enabled": True}, "dcbx": {"on": True, **settings}})
        return daemon, ends[0], Lldpad(sandbox, b, "right", wait_for), ends[1]
    yield make
    frames = {bytes(p).hex() for p in heard.receive(1000, lambda p: p.type == LLDP, 0.5)}
    assert frames, "lldpad has said nothing"
    done = subprocess.run([tools.build / "tests" / "vm" / "dcbx_roundtrip"], input="\n".join(frames), text=True,
                          capture_output=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


def on(driver):
    """Priorities that have PFC in a driver."""
    return [i for i, is_on in enumerate(driver.dcb("pfc", "show")["prio_pfc"]) if is_on]


def udp(driver):
    return [row[:2] for row in driver.dcb("app", "show").get("dgram_port_prio", [])]


def agreed(daemon, feature):
    return dcbx(daemon, "left")["operational"][feature]


def test_ieee_we_follow(pair, wait_for):
    daemon, ours, lldpad, theirs = pair(**WILLING)
    lldpad.start([3, 4], SHARES, [(4, 2, 3260), (5, 3, 4791)])
    wait_for(lambda: on(ours) == [3, 4] == on(theirs), LIMIT_S, "the same PFC in both drivers")
    now = dcbx(daemon, "left")
    assert now["dialect"] == "ieee" and pfc_of(now["operational"]) == [3, 4]
    assert now["operational"]["ets"]["share"] == [SHARES.get(tc, 0) for tc in range(8)] == theirs.dcb("ets", "show")["tc_bw"]
    assert ours.dcb("ets", "show")["tc_bw"] == theirs.dcb("ets", "show")["tc_bw"]
    assert alarms(daemon, "left") == set()
    lldpad.stop()
    wait_for(lambda: on(ours) == [3], LIMIT_S, "the configuration to hold again")


def test_ieee_lldpad_follows(pair, wait_for):
    daemon, ours, lldpad, theirs = pair()
    lldpad.start([5], {0: 100}, willing=True)
    wait_for(lambda: on(theirs) == [3] == on(ours), LIMIT_S, "the same PFC in both drivers")
    assert theirs.dcb("ets", "show")["tc_bw"] == OUR_SHARES == ours.dcb("ets", "show")["tc_bw"]
    wait_for(lambda: udp(theirs) == [[4791, 3]] == udp(ours), what="the same applications")
    wait_for(lambda: dcbx(daemon, "left")["peer"].get("pfc", {}).get("priorities") == [3], what="lldpad to say so")
    now = dcbx(daemon, "left")
    assert now["peer"]["pfc"]["willing"] and now["peer"]["ets"]["willing"] and pfc_of(now["operational"]) == [3]
    assert alarms(daemon, "left") == set()


def test_ieee_entries_of_both(pair, wait_for):
    """lldpad takes our entries and says them back beside its own, which count."""
    daemon, ours, lldpad, theirs = pair(**WILLING)
    lldpad.start([3], SHARES, [(5, 3, 4791)])
    wait_for(lambda: "udp 4791 = 5" in agreed(daemon, "apps")["entries"], LIMIT_S, "its priority")
    wait_for(lambda: udp(ours) == [[4791, 5]], what="our driver to have it")
    lldpad.start([3], SHARES)
    wait_for(lambda: agreed(daemon, "apps")["entries"] == ["udp 4791 = 3"], LIMIT_S, "our own again")


def test_cee_as_lldpad_reads_it(pair, wait_for):
    daemon, ours, lldpad, theirs = pair(version="cee")
    lldpad.start([4], SHARES)
    wait_for(lambda: "CEE DCBX TLV" in lldpad.neighbour(), LIMIT_S, "lldpad to hear CEE")
    read = lldpad.neighbour()
    for part in ("SeqNo: 1, AckNo: 0", "Enabled, Not Willing, No Error", "PGID Priorities:  0:[0] 1:[1] 3:[3] 15:[2,4,5,6,7]",
                 "0:30% 1:20% 2:0% 3:50% 4:0% 5:0% 6:0% 7:0%", "PFC enabled priorities: 3", "TCP/UDP Port: 0x12b7, Priority Map: 0x08"):
        assert part in read, read


def test_version_mismatch_comes_and_goes(pair, wait_for):
    daemon, ours, lldpad, theirs = pair(**WILLING)

    def speak(version):
        daemon.configure(OURS, [{"name": "left"}],
                         tables={"lldp": {"enabled": True}, "dcbx": {"on": True, "version": version, **WILLING}})
        assert daemon.run_ctl("reload").returncode == 0
    lldpad.start([4], SHARES)
    wait_for(lambda: pfc_of(dcbx(daemon, "left")["operational"]) == [4], LIMIT_S, "its PFC")
    lldpad.freeze()
    speak("cee")
    assert alarms(daemon, "left") == {"version mismatch"}
    assert pfc_of(dcbx(daemon, "left")["operational"]) == [3]
    speak("auto")
    assert alarms(daemon, "left") == set() and pfc_of(dcbx(daemon, "left")["operational"]) == [4]
    assert "version mismatch: the neighbour speaks ieee, this port cee" in daemon.log.read_text()
    assert "version mismatch is over" in daemon.log.read_text()
