# SPDX-License-Identifier: Apache-2.0
"""DCBX with lldpad at the other end of the wire: the ends agree, and each end's driver has what was agreed on.

IEEE with the lldpad that the machine has; CEE with Debian 13's (tests/vm/lldpad), as Debian 12's only reads it."""

import os
import subprocess

import pytest

import dcbsim
from lldpad import CEE, ONLY_CEE_100, Lldpad
from test_dcbx import PFC, alarms, dcbx, pfc_of

pytestmark = pytest.mark.usefixtures("nothing_left")

LLDP = 0x88CC
LIMIT_S = 40  # lldpad says its first word within 30 s
WILLING = {"ets_willing": True, "pfc_willing": True, "app_willing": True}
SHARES = {0: 20, 1: 20, 3: 60}
OURS = {**PFC, "0": {"weight": 30}, "1": {"weight": 20}, "3": {"weight": 50, **PFC["3"]}, "2": {"schedule": "strict"},
        "4": {"schedule": "strict"}, "5": {"schedule": "strict"}}
OUR_SHARES = [30, 20, 0, 50, 0, 0, 0, 0]
STRICT_ONES = [2, 4, 5, 6, 7]  # priorities, with these and those
GROUPS = "01F3FFFF"  # of each priority in CEE, the same
ISCSI = {"field": "tcp", "protocol": 3260, "priority": 2}
APPLICATIONS = [{"field": "udp", "protocol": 4791, "priority": 3}, ISCSI]


def tables(settings, applications=None):
    return {"lldp": {"enabled": True}, "dcbx": {"on": True, **settings}, "application": applications or APPLICATIONS}


def reload(daemon, queues=None, applications=None, **settings):
    daemon.configure(queues or OURS, [{"name": "left"}], tables=tables(settings, applications))
    assert daemon.run_ctl("reload").returncode == 0


@pytest.fixture(scope="module")
def debian13():
    folder = os.environ.get("LL_LLDPAD")
    assert folder, "LL_LLDPAD is not set; tests/vm/lldpad prints the folder of Debian 13's lldpad"
    return folder


@pytest.fixture(scope="module", autouse=True)
def driver():
    dcbsim.load()
    yield
    dcbsim.unload()


@pytest.fixture
def pair(sandbox, wire, wait_for, tools):
    """make(settings) -> (our daemon, its driver, lldpad, its driver); `root`: the folder that lldpad is in. Afterwards,
    all that lldpad has sent must decode and be encoded byte for byte."""
    a, b = sandbox.netns("a"), sandbox.netns("b")
    sandbox.veth((b, "spare", ""), (b, "other", ""))  # the kernel keeps APP by ifindex, whatever the namespace
    sandbox.veth((a, "left", "02:00:00:00:0a:01"), (b, "right", "02:00:00:00:0b:01"))
    ends = dcbsim.Port(a, "left", "full"), dcbsim.Port(b, "right", "full")
    heard = wire(a, "left")

    def make(root="/", **settings):
        daemon = sandbox.daemon(a, ["left"], OURS, tables=tables(settings))
        return daemon, ends[0], Lldpad(sandbox, b, "right", wait_for, root), ends[1]
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


def by_port(driver):
    return [row[:2] for row in driver.dcb("app", "show").get("port_prio", [])]


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
    wait_for(lambda: agreed(daemon, "apps")["entries"] == ["tcp 3260 = 2", "udp 4791 = 3"], LIMIT_S, "our own again")


def test_cee_as_lldpad_reads_it(pair, wait_for):
    daemon, ours, lldpad, theirs = pair(version="cee")
    lldpad.start([4], SHARES)
    wait_for(lambda: "CEE DCBX TLV" in lldpad.neighbour(), LIMIT_S, "lldpad to hear CEE")
    read = lldpad.neighbour()
    for part in ("SeqNo: 1,", "Enabled, Not Willing, No Error", "PGID Priorities:  0:[0] 1:[1] 3:[3] 15:[2,4,5,6,7]",
                 "0:30% 1:20% 2:0% 3:50% 4:0% 5:0% 6:0% 7:0%", "PFC enabled priorities: 3", "TCP/UDP Port: 0x12b7, Priority Map: 0x08"):
        assert part in read, read


def told(driver):
    """What a driver was told in CEE: (priorities with PFC, shares by class, strict priorities). None while the
    directions differ."""
    state = driver.cee()
    if state["tx"] != state["rx"]:
        return None
    classes = list(zip(*(state["tx"][key] for key in ("priorities", "strict", "share"))))
    strict = sum(priorities for priorities, is_strict, _ in classes if is_strict)
    return ([i for i, is_on in enumerate(state["pfc"]) if is_on], [share for _, _, share in classes],
            [i for i in range(8) if strict >> i & 1])


def held_by(lldpad):
    """What lldpad itself says that holds: (priorities with PFC, shares by group, group of each priority, priorities of
    iSCSI bit by bit in hex). Where it finds something wrong, what it says of it."""
    pfc, groups, iscsi = (lldpad.operational(feature) for feature in ("pfc", "pg", "app:1"))
    for feature in (pfc, groups, iscsi):
        if feature["Errors"][0] != "0x00" or feature["Oper Mode"] != ["true"] or feature["Syncd"] != ["true"]:
            return feature
    return ([i for i, is_on in enumerate(pfc["pfcup"]) if is_on == "1"], [int(share.rstrip("%")) for share in groups["pgpct"]],
            "".join(groups["pgid"]), iscsi["appcfg"][0])


def test_cee_we_follow(pair, debian13, wait_for):
    daemon, ours, lldpad, theirs = pair(debian13, **WILLING)
    lldpad.start_cee([4], SHARES, iscsi=4)
    shares = [SHARES.get(tc, 0) for tc in range(8)]
    wait_for(lambda: told(theirs) == ([4], shares, STRICT_ONES) and on(ours) == [4], LIMIT_S, "the same PFC in both drivers")
    wait_for(lambda: ours.dcb("ets", "show")["tc_bw"] == shares, what="the same shares")
    wait_for(lambda: by_port(ours) == [[3260, 4]], LIMIT_S, "its application in our driver")
    wait_for(lambda: held_by(lldpad) == ([4], shares, GROUPS, "10"), LIMIT_S, "lldpad to agree")
    now = dcbx(daemon, "left")
    assert now["dialect"] == "cee" and pfc_of(now["operational"]) == [4] and now["operational"]["ets"]["share"] == shares
    assert now["operational"]["apps"]["entries"] == ["udp 4791 = 3", "port 3260 = 4"]
    assert alarms(daemon, "left") == set()
    # A change is a new number, and we acknowledge it.
    lldpad.set("pfc", "pfcup:00001100")
    wait_for(lambda: told(theirs) == ([4, 5], shares, STRICT_ONES) and on(ours) == [4, 5], LIMIT_S, "what it has changed")
    assert (number := dcbx(daemon, "left")["cee"]["peer_sequence"]) > now["cee"]["peer_sequence"]
    wait_for(lambda: f"AckNo: {number}" in lldpad.neighbour(), LIMIT_S, "our acknowledgement")
    wait_for(lambda: held_by(lldpad) == ([4, 5], shares, GROUPS, "10"), LIMIT_S, "lldpad to agree")
    assert alarms(daemon, "left") == set()
    # It wants to hear of each of its applications, else it reports an error.
    reload(daemon, applications=[a for a in APPLICATIONS if a != ISCSI], **WILLING)
    wait_for(lambda: alarms(daemon, "left") == {"neighbour in error"}, LIMIT_S, "its error")
    assert agreed(daemon, "apps")["entries"] == ["udp 4791 = 3"] and on(ours) == [4, 5]
    reload(daemon, **WILLING)
    wait_for(lambda: alarms(daemon, "left") == set(), LIMIT_S, "the error to end")
    wait_for(lambda: by_port(ours) == [[3260, 4]], LIMIT_S, "its application again")


def test_cee_lldpad_follows(pair, debian13, wait_for):
    daemon, ours, lldpad, theirs = pair(debian13, version="cee")
    lldpad.start_cee([5], {0: 100}, iscsi=6, willing=True, version=CEE)  # it begins in IEEE
    wait_for(lambda: told(theirs) == ([3], OUR_SHARES, STRICT_ONES), LIMIT_S, "our parameters in its driver")
    wait_for(lambda: held_by(lldpad) == ([3], OUR_SHARES, GROUPS, "04"), LIMIT_S, "lldpad to agree")
    wait_for(lambda: dcbx(daemon, "left")["cee"]["acknowledged"], LIMIT_S, "its acknowledgement")
    now = dcbx(daemon, "left")
    assert on(ours) == [3] == pfc_of(now["operational"]) and ours.dcb("ets", "show")["tc_bw"] == OUR_SHARES
    assert now["peer"]["pfc"]["willing"] and now["peer"]["ets"]["willing"] and now["peer"]["apps"]["willing"]
    assert alarms(daemon, "left") == set()
    reload(daemon, {**OURS, "4": {"schedule": "strict", **PFC["3"]}}, version="cee")
    wait_for(lambda: told(theirs) == ([3, 4], OUR_SHARES, STRICT_ONES) and on(ours) == [3, 4], LIMIT_S, "what we have changed")
    wait_for(lambda: held_by(lldpad) == ([3, 4], OUR_SHARES, GROUPS, "04"), LIMIT_S, "lldpad to agree")
    wait_for(lambda: dcbx(daemon, "left")["cee"]["acknowledged"], LIMIT_S, "its acknowledgement")
    assert dcbx(daemon, "left")["cee"]["sequence"] == now["cee"]["sequence"] + 1


def test_cee_version_mismatch_comes_and_goes(pair, debian13, wait_for):
    daemon, ours, lldpad, theirs = pair(debian13, version="ieee", **WILLING)
    lldpad.start_cee([4], SHARES, iscsi=4)
    wait_for(lambda: alarms(daemon, "left") == {"version mismatch"}, LIMIT_S, "the alarm")
    assert pfc_of(dcbx(daemon, "left")["operational"]) == [3] == on(ours)
    reload(daemon, **WILLING)
    wait_for(lambda: on(ours) == [4] and alarms(daemon, "left") == set(), LIMIT_S, "both ends to speak CEE")
    lldpad.start_cee([4], SHARES, iscsi=4, version=ONLY_CEE_100)
    wait_for(lambda: on(ours) == [3] and alarms(daemon, "left") == {"version mismatch"}, LIMIT_S, "the alarm of CEE 1.00")
    lldpad.start_cee([4], SHARES, iscsi=4)
    wait_for(lambda: on(ours) == [4] and alarms(daemon, "left") == set(), LIMIT_S, "CEE 1.01 again")
    log = daemon.log.read_text()
    assert "version mismatch: the neighbour speaks cee, this port ieee" in log
    assert "version mismatch: the neighbour speaks CEE 1.00" in log and log.count("version mismatch is over") == 2


def test_version_mismatch_comes_and_goes(pair, wait_for):
    daemon, ours, lldpad, theirs = pair(**WILLING)

    lldpad.start([4], SHARES)
    wait_for(lambda: pfc_of(dcbx(daemon, "left")["operational"]) == [4], LIMIT_S, "its PFC")
    lldpad.deafen()
    reload(daemon, version="cee", **WILLING)
    assert alarms(daemon, "left") == {"version mismatch"}
    assert pfc_of(dcbx(daemon, "left")["operational"]) == [3]
    reload(daemon, **WILLING)
    assert alarms(daemon, "left") == set() and pfc_of(dcbx(daemon, "left")["operational"]) == [4]
    assert "version mismatch: the neighbour speaks ieee, this port cee" in daemon.log.read_text()
    assert "version mismatch is over" in daemon.log.read_text()
