# SPDX-License-Identifier: Apache-2.0
"""The lab inof-fabric: everybody is told across switches, of nothing else, and nothing is left behind."""

import json
import subprocess
import sys
from pathlib import Path

from vethlab import namespaces, tools as vethlab_tools

LAB = Path(__file__).resolve().parents[2] / "veth-topo" / "lab"


def test_everybody_is_told_over_the_fabric(request, tmp_path):
    build = str(vethlab_tools.Tools(request.config.getoption("--build")).build)
    before = set(namespaces.NETNS_DIR.iterdir()) if namespaces.NETNS_DIR.exists() else set()
    file = tmp_path / "o.json"
    done = subprocess.run([sys.executable, LAB, "run", "inof-fabric", "--build", build, "--variant", "mixed", "--set", "servers=2",
                           "--set", "disks=2", "--set", "rounds=1", "--json", file], text=True, capture_output=True,
                          check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    o = json.loads(file.read_text())
    assert (o["lab"], o["variant"], o["hosts"], o["switches"]) == ("inof-fabric", "mixed", 4, 4)
    assert (o["wrong_leaves"], o["wrong_joins"]) == (0, 0), o
    events = {e["what"]: e for e in o["events"]}
    assert {"join", "join-remote", "link-down", "link-down-remote", "reflector-killed", "client-restart", "switch-lost"} <= set(events)
    for e in events.values():
        assert e["notified"] == e["expected"], e
    assert events["switch-lost"]["expected"] == 4 and events["switch-lost"]["reason"] == 3
    assert set(namespaces.NETNS_DIR.iterdir()) - before == set()
