# SPDX-License-Identifier: Apache-2.0
"""The incast lab, small: what it measures, that it accounts for every packet, and what it leaves behind."""

import json
import os
import signal
import subprocess
import sys

import pytest

from vethlab import namespaces, rundir, topology
from vethlab.cli import TOPOLOGIES
from vethlab.processes import start_time
from vethlab.runner import run_variant
from vethlab.waiting import wait_for

LAB = TOPOLOGIES.parent / "lab"
SENDERS = 4
RATE = 100
DURATION_S = 4

SHAPE = {
    "lab": str, "variant": str, "senders": int, "link_mbps": int, "duration_s": (int, float), "seed": int,
    "drops": {"lossless": int, "lossy": int},
    "pfc": {"tx": int, "rx": int, "paused_ms": int},
    "ecn": {"selected": int, "marked": int, "failed": int},
    "cnp": {"sent": int, "ipcc": int, "received": int},
    "queue_bytes": {"p50": int, "p99": int, "max": int},
    "fct_ms": {kind: {"n": int, "p50": (int, float), "p99": (int, float)} for kind in ("all", "mice", "elephants")},
    "goodput_mbps": (int, float), "goodput_limit_mbps": (int, float), "retransmitted": int,
    "fairness": float, "flows": list, "drops_by_place": dict,
}


def assert_shape(value, shape, where="outcome"):
    if not isinstance(shape, dict):
        assert isinstance(value, shape), f"{where} is {value!r}"
        return
    assert set(value) == set(shape), where
    for key, inner in shape.items():
        assert_shape(value[key], inner, f"{where}.{key}")


@pytest.fixture(scope="module")
def measured(tools):
    """The variants, run once for all tests of this file."""
    runs = {}
    for variant in ("plain", "ecn", "ipcc"):
        one = topology.load(TOPOLOGIES / "incast.toml", variant, {"senders": SENDERS, "rate": RATE}, DURATION_S)
        runs[variant] = run_variant(one, tools, seed=7)
    return runs


@pytest.mark.parametrize("variant", ["plain", "ecn"])
def test_outcome_has_its_shape_and_round_trips(measured, variant):
    outcome = json.loads(json.dumps(measured[variant].outcome))
    assert_shape(outcome, SHAPE)
    assert (outcome["variant"], outcome["senders"], outcome["link_mbps"]) == (variant, SENDERS, RATE)
    assert all(isinstance(n, int) for n in outcome["drops_by_place"].values())


@pytest.mark.parametrize("variant", ["plain", "ecn"])
def test_every_lost_frame_was_counted_somewhere(measured, variant):
    outcome = measured[variant].outcome
    places = dict(outcome["drops_by_place"])
    assert places.pop("unexplained") == 0, outcome["drops_by_place"]
    assert sum(places.values()) == sum(outcome["drops"].values())


def test_plain_fills_its_queue_and_loses_there_alone(measured):
    outcome = measured["plain"].outcome
    limit = measured["plain"].thresholds["limit"]
    assert outcome["queue_bytes"]["p99"] > 0.9 * limit
    assert outcome["drops"]["lossy"] > 0 and outcome["retransmitted"] > 0
    assert set(outcome["drops_by_place"]) == {"sw:r:tc3:tail", "unexplained"}
    assert outcome["ecn"]["marked"] == 0 and outcome["cnp"]["sent"] == 0


def test_ecn_marks_and_senders_react(measured):
    outcome = measured["ecn"].outcome
    assert outcome["ecn"]["marked"] > 0 and outcome["ecn"]["failed"] == 0
    assert 0 < outcome["cnp"]["sent"] <= outcome["ecn"]["marked"]


def test_ipcc_tells_the_senders_and_every_cnp_arrives(measured):
    outcome = measured["ipcc"].outcome
    assert outcome["ecn"]["marked"] == 0 and outcome["cnp"]["sent"] == 0
    assert 0 < outcome["cnp"]["ipcc"] == outcome["cnp"]["received"]
    assert outcome["queue_bytes"]["p50"] < measured["plain"].outcome["queue_bytes"]["p50"] / 4
    assert outcome["drops_by_place"]["unexplained"] == 0


def test_ecn_keeps_the_queue_short_without_loss_of_goodput(measured):
    plain, ecn = measured["plain"].outcome, measured["ecn"].outcome
    assert ecn["queue_bytes"]["p99"] <= plain["queue_bytes"]["p99"] / 4
    assert ecn["goodput_mbps"] >= 0.95 * ecn["goodput_limit_mbps"]
    assert ecn["fairness"] >= 0.95
    assert ecn["fct_ms"]["mice"]["n"] > 0
    assert ecn["fct_ms"]["mice"]["p50"] < plain["fct_ms"]["mice"]["p50"]


def test_no_drop_in_the_marked_queue_once_senders_react(measured):
    queue = measured["ecn"].queue
    reacted = next(s for s in queue if s.t_ns >= queue[0].t_ns + 500_000_000)
    assert queue[-1].dropped_packets == reacted.dropped_packets
    assert queue[-1].sent_packets > reacted.sent_packets


def test_goodput_is_what_left_the_queue(measured):
    """The endpoint's figure against the leaf's own counter: payload can be no more than what was sent."""
    for one in measured.values():
        first, last = one.queue[0], one.queue[-1]
        seconds = (last.t_ns - first.t_ns) / 1e9
        # Whole frames are larger than their payload; acknowledgements don't pass this queue.
        wire_mbps = (last.sent_packets - first.sent_packets) * 1082 * 8 / seconds / 1e6
        assert one.outcome["goodput_mbps"] <= wire_mbps * 1.02
        assert wire_mbps <= RATE * 1.03


# --- What a run leaves behind: nothing, whatever its end ------------------------------------------------


class Lab:
    """A `lab run` in a process of its own."""

    def __init__(self, tools, tmp_path):
        self.json = tmp_path / "out.json"
        command = [sys.executable, LAB, "run", "incast", "--senders", "2", "--variant", "ecn", "--duration", "60",
                   "--json", self.json, "--build", tools.build]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def record(self):
        """What this lab has on record, None before there is something."""
        for path in rundir.RUNS.glob("*/record.json"):
            record = json.loads(path.read_text())
            if record["pid"] == self.process.pid:
                return {**record, "run": path.parent.name}
        return None

    def wait_for_traffic(self):
        """Waits until daemon, sampler and endpoint run; returns the record."""
        def running():
            assert self.process.poll() is None, self.process.communicate()[1]
            record = self.record()
            return record if record and len(record["processes"]) == 3 else None
        return wait_for(running, 30, "traffic running")

    def finish(self):
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def lab(tools, tmp_path):
    one = Lab(tools, tmp_path)
    yield one
    if one.process.poll() is None:
        one.process.kill()
        one.process.wait()
    rundir.clean()


def assert_nothing_left(record):
    assert not [n for n in record["namespaces"] if namespaces.exists(n)]
    assert not (rundir.RUNS / record["run"]).exists()
    assert not [i for i in record["instances"] if (rundir.PINS / i).exists()]
    assert not [pid for pid, started in record["processes"] if start_time(pid) == started]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_mid_run_leaves_nothing(lab, signum):
    record = lab.wait_for_traffic()
    assert record["namespaces"] and record["instances"]
    lab.process.send_signal(signum)
    code, _, err = lab.finish()
    assert code == 128 + signum
    assert "stopped by" in err
    assert_nothing_left(record)
    assert not lab.json.exists()


def test_a_killed_daemon_is_reported_and_leaves_nothing(lab):
    record = lab.wait_for_traffic()
    daemon, _ = record["processes"][0]
    os.kill(daemon, signal.SIGKILL)
    code, _, err = lab.finish()
    assert code == 1
    assert "losslessd ended: killed by SIGKILL" in err
    assert_nothing_left(record)


def test_clean_removes_a_dead_run_and_no_living_one(lab, sandbox):
    living = sandbox.netns("alive")
    record = lab.wait_for_traffic()
    os.kill(lab.process.pid, signal.SIGKILL)
    lab.finish()
    assert [n for n in record["namespaces"] if namespaces.exists(n)], "a killed run cannot have cleaned up"
    done = subprocess.run([sys.executable, LAB, "clean"], text=True, capture_output=True, check=True)
    assert record["run"] in done.stdout
    assert_nothing_left(record)
    assert namespaces.exists(living)


def test_a_parameter_out_of_range_fails_before_anything_is_built(tools):
    done = subprocess.run([sys.executable, LAB, "run", "incast", "--senders", "65", "--build", tools.build],
                          text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "senders = 65: allowed is 1 to 64" in done.stderr
