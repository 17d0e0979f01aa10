# SPDX-License-Identifier: Apache-2.0
"""The kernel's own counters of every place of a lab where a packet can be lost."""

import json
from dataclasses import dataclass, field

from .namespaces import run_tool

_ROOT_HANDLE = "4c00:"  # queue tree of a managed port, see bpf/abi.h
_LEAVES = {f"{0x4C01 + tc:x}:": tc for tc in range(8)}


@dataclass
class Snapshot:
    """Packets by place, since the interfaces and queues were made."""
    dropped: dict = field(default_factory=dict)  # place -> packets
    queued: dict = field(default_factory=dict)   # place -> packets waiting now

    def since(self, before):
        """Losses between two snapshots, and what still waits now: place -> packets, without zeros."""
        change = {p: n - before.dropped.get(p, 0) for p, n in self.dropped.items()}
        return {p: n for p, n in {**change, **self.queued}.items() if n}


def _read_queues(snapshot, node, netns):
    roots, leaves = {}, {}
    for qdisc in json.loads(run_tool("tc", "-n", netns, "-s", "-j", "qdisc", "show") or "[]"):
        port, handle = qdisc["dev"], qdisc.get("handle")
        if handle == _ROOT_HANDLE:
            roots[port] = qdisc["drops"]
        elif handle in _LEAVES:
            place = f"{node}:{port}:tc{_LEAVES[handle]}"
            snapshot.dropped[f"{place}:tail"] = qdisc["drops"]
            snapshot.queued[f"{place}:queued"] = qdisc["qlen"]
            leaves[port] = leaves.get(port, 0) + qdisc["drops"]
    for port, drops in roots.items():
        # The root counts its leaves' drops again; more than that was lost above them.
        snapshot.dropped[f"{node}:{port}:root"] = drops - leaves.get(port, 0)


def _read_links(snapshot, node, netns):
    for link in json.loads(run_tool("ip", "-n", netns, "-s", "-j", "link", "show")):
        stats = link["stats64"]
        for way in ("rx", "tx"):
            snapshot.dropped[f"{node}:{link['ifname']}:{way}"] = stats[way]["dropped"] + stats[way]["errors"]


def _read_wred(snapshot, node, ecn_rows):
    for row in ecn_rows:
        snapshot.dropped[f"{node}:{row['port']}:tc{row['tc']}:wred"] = row["dropped"]


def _read_watchdog(snapshot, node, drops):
    for row in drops.get("queues", []):
        place = f"{node}:{row['port']}:tc{int(row.get('tc', 0))}"
        if dropped := int(row.get("watchdog", 0)):
            snapshot.dropped[f"{place}:watchdog"] = dropped
            # The kernel counts what the watchdog threw out of the queue among the tail drops; losslessd does not.
            snapshot.dropped[f"{place}:tail"] = int(row["tail"])


def take(topology, namespaces, ecn_of_switch, drops_of_switch):
    """Reads all counters. `ecn_of_switch`: switch -> rows of `show ecn` (see ecn_rows); `drops_of_switch`: switch
    -> reply of `show packet-drop`."""
    snapshot = Snapshot()
    for switch in topology.switches:
        _read_queues(snapshot, switch.name, namespaces[switch.name])
        _read_wred(snapshot, switch.name, ecn_of_switch.get(switch.name, []))
        _read_watchdog(snapshot, switch.name, drops_of_switch.get(switch.name, {}))
    for node, netns in namespaces.items():
        _read_links(snapshot, node, netns)
    return snapshot


_ECN_COUNTERS = ("selected", "marked", "dropped", "failed")


def ecn_rows(reply):
    """Rows of a `losslessctl show ecn --json` reply. Protobuf's JSON writes 64-bit numbers as text and
    leaves zeros out."""
    return [{"port": q["port"], "tc": int(q.get("tc", 0)), **{k: int(q.get(k, 0)) for k in _ECN_COUNTERS}}
            for q in reply.get("queues", [])]


def ecn_totals(ecn_of_switch):
    """selected, marked, failed (and dropped) over all switches, ports and TCs."""
    rows = [row for rows in ecn_of_switch.values() for row in rows]
    return {k: sum(row[k] for row in rows) for k in _ECN_COUNTERS}


def ipcc_sent(ipcc_of_switch):
    """CNPs that the switches made: `losslessctl show ipcc --json` of each."""
    return sum(int(q.get("sent_few", 0)) + int(q.get("sent_many", 0))
               for reply in ipcc_of_switch.values() for q in reply.get("queues", []))


_PFC_COUNTERS = ("tx_xoff", "tx_xon", "rx_frames", "paused_ms", "transitions")


def pfc_rows(reply):
    """Rows of a `losslessctl show pfc --json` reply, one for each port and TC."""
    return [{"port": q["port"], "tc": int(q.get("tc", 0)), **{k: int(q.get(k, 0)) for k in _PFC_COUNTERS}}
            for q in reply.get("queues", [])]


def pfc_totals(pfc_of_switch):
    """Frames and pauses over all switches, ports and TCs."""
    rows = [row for rows in pfc_of_switch.values() for row in rows]
    return {"tx": sum(r["tx_xoff"] + r["tx_xon"] for r in rows), "rx": sum(r["rx_frames"] for r in rows),
            "paused_ms": sum(r["paused_ms"] for r in rows)}
