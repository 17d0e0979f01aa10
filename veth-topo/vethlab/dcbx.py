# SPDX-License-Identifier: Apache-2.0
"""DCBX between the daemons of a lab: waits until the two ends of each link have agreed."""

from .waiting import WaitTimeout, wait_for

AGREE_LIMIT_S = 60
_FEATURES = ("ets", "pfc", "apps")


def links(topology):
    """(link, host, switch) of each link between a host that runs losslessd and a switch."""
    hosts = {h.name for h in topology.hosts if h.file}
    switches = {s.name for s in topology.switches if s.managed}
    for link in topology.links:
        nodes = [end.node for end in link.ends]
        for host, switch in (nodes, nodes[::-1]):
            if host in hosts and switch in switches:
                yield link, host, switch


def _side(daemon, port):
    shown = daemon.ctl_running("show", "dcbx", port)["ports"]
    return shown[0] if shown else None


def _holds(side):
    """What holds at an end, by feature."""
    now = side["operational"]
    return {"ets": {key: now["ets"].get(key, []) for key in ("priority_tc", "share")},
            "pfc": now["pfc"].get("priorities", []), "apps": now["apps"].get("entries", [])}


def agreement(link, here, there):
    """The row of one link. `here`: what the host shows of it (`show dcbx`), `there`: the switch."""
    host, switch = _holds(here), _holds(there)
    clean = not any(side.get("alarms") or side.get("refused") or not side.get("peer") for side in (here, there))
    return {"link": link, "dialect": here["dialect"],
            "willing": {"host": [f for f in _FEATURES if here["local"][f].get("willing")],
                        "switch": [f for f in _FEATURES if there["local"][f].get("willing")]},
            "operational": switch, "agreed": clean and host == switch}


def wait_agreed(topology, daemons, limit_s=AGREE_LIMIT_S):
    """The rows of all such links, once their ends agree; WaitTimeout, which names those that do not."""
    rows = []

    def look():
        rows.clear()
        for link, host, switch in links(topology):
            here = _side(daemons[host], link.end_at(host).name)
            there = _side(daemons[switch], link.end_at(switch).name)
            rows.append(agreement(link.name, here, there) if here and there else {"link": link.name, "agreed": False})
        return all(row["agreed"] for row in rows)

    try:
        wait_for(look, limit_s, "DCBX to agree on each link", every_s=0.2)
    except WaitTimeout as e:
        raise WaitTimeout(f"{e}; not agreed: {', '.join(row['link'] for row in rows if not row['agreed'])}") from e
    return rows
