# SPDX-License-Identifier: Apache-2.0
"""The outcome of a variant: the figures of a run in one JSON object (docs/labs.md). Pure."""

from . import counters, samples

_NO_FCT = {"n": 0, "p50": 0, "p99": 0}


_CNP_DSCP = 48


def _end_to_end(topology, result, made_by_switches):
    """Frames sent and never received, from the endpoint's counts, by kind of TC. The CNPs that switches made were
    sent, too."""
    lost = {"lossless": 0, "lossy": 0}
    by_dscp = {int(dscp): frames for dscp, frames in result["lost"]["by_dscp"].items()}
    if made_by_switches:
        by_dscp[_CNP_DSCP] = by_dscp.get(_CNP_DSCP, 0) + made_by_switches
    for dscp, frames in by_dscp.items():
        kind = "lossless" if topology.is_lossless(topology.tc_of_dscp(dscp)) else "lossy"
        lost[kind] += frames
    return lost


def _by_place(result, places, lost):
    """Losses by the place that counted them, and what nobody counted: positive when frames vanished,
    negative when a place counted frames that are not the endpoint's."""
    found = dict(places)
    for host in result["hosts"]:
        if host.get("socket_drops"):
            found[f"{host['name']}:socket"] = host["socket_drops"]
    return {**found, "unexplained": sum(lost.values()) - sum(found.values())}


def _fct(result):
    fct = result.get("fct_ms", {})
    return {k: {f: fct.get(k, _NO_FCT).get(f, 0) for f in _NO_FCT} for k in ("all", "mice", "elephants")}


def _pfc(result, pfc_of_switch):
    """Frames the switches sent and received; the time in which senders and switches had to wait."""
    totals = counters.pfc_totals(pfc_of_switch)
    hosts_ms = sum(host.get("paused_ms", 0) for host in result["hosts"])
    return {**totals, "paused_ms": totals["paused_ms"] + round(hosts_ms)}


def _flows(topology, result):
    """Payload delivered by each connection over the time of the traffic."""
    return [{"from": f["from"], "to": f["to"], "goodput_mbps": round(f["goodput_bytes"] * 8e-6 / topology.duration_s, 3)}
            for f in result.get("flows", [])]


def _is_closed(flow):
    return flow.get("arrival", {}).get("mode", "closed") == "closed"


def _fairness(topology, result):
    """Jain's index over the queue pairs that always have something to send: 1 if all got the same, 1/n if one got all.
    None with fewer than two of them."""
    pairs = [flow for flow in topology.flows for _ in range(flow.get("qps", 1))]
    got = [f["goodput_bytes"] for flow, f in zip(pairs, result.get("flows", [])) if _is_closed(flow)]
    if len(got) < 2 or not any(got):
        return None
    return round(sum(got) ** 2 / (len(got) * sum(x * x for x in got)), 3)


def build(topology, seed, result, places, ecn_of_switch, pfc_of_switch, queue_samples, ipcc_cnps=0):
    """`places`: losses by place during the run; `queue_samples`: the bottleneck's, while traffic ran; `ipcc_cnps`:
    made by the switches."""
    lost = _end_to_end(topology, result, ipcc_cnps)
    ecn = counters.ecn_totals(ecn_of_switch)
    return {
        "lab": topology.lab,
        "variant": topology.variant,
        "senders": len({flow["from"] for flow in topology.flows}),
        "link_mbps": topology.parameters.get("rate", 0),
        "duration_s": topology.duration_s,
        "seed": seed,
        "drops": lost,
        "pfc": _pfc(result, pfc_of_switch),
        "ecn": {k: ecn[k] for k in ("selected", "marked", "failed")},
        "cnp": {"sent": result["cnp"]["sent"], "ipcc": ipcc_cnps, "received": result["cnp"]["received"]},
        "queue_bytes": samples.depth_figures(queue_samples),
        "fct_ms": _fct(result),
        "goodput_mbps": result["goodput_mbps"],
        "goodput_limit_mbps": result["goodput_limit_mbps"],
        "fairness": _fairness(topology, result),
        "flows": _flows(topology, result),
        "retransmitted": result["retransmitted"],
        "drops_by_place": _by_place(result, places, lost),
    }


def document(outcomes):
    """What goes into the JSON file: the object itself for one variant, {"runs": [...]} for several."""
    return outcomes[0] if len(outcomes) == 1 else {"runs": outcomes}
