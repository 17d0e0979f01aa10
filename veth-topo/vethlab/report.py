# SPDX-License-Identifier: Apache-2.0
"""What a person sees: a progress bar while a lab runs, and the variants side by side. Pure but for Bar."""

import shutil
import sys


def amount(number):
    """Bytes with a unit: 812, 81.2 KB, 1.05 MB."""
    for unit, size in (("MB", 1_000_000), ("KB", 1000)):
        if number >= size:
            return f"{number / size:.3g} {unit}" if number / size < 999.5 else f"{number / size:.0f} {unit}"
    return f"{number} B"


def milliseconds(ms):
    if ms >= 1000:
        return f"{ms / 1000:.3g} s"
    return f"{ms:.3g} ms" if ms else "0"


def _fct(kind, share):
    def cell(o):
        figures = o["fct_ms"][kind]
        return milliseconds(figures[share]) if figures["n"] else "-"
    return cell


def _share(o):
    return f"{100 * o['goodput_mbps'] / o['goodput_limit_mbps']:.1f} %" if o["goodput_limit_mbps"] else "-"


def _count(n):
    return f"{n:,}"


_ROWS = [
    ("goodput", lambda o: f"{o['goodput_mbps']:.1f} Mbit/s"),
    ("  of its limit", _share),
    ("  Jain's index", lambda o: "-" if o["fairness"] is None else f"{o['fairness']:.3f}"),
    ("drops, lossless TCs", lambda o: _count(o["drops"]["lossless"])),
    ("drops, lossy TCs", lambda o: _count(o["drops"]["lossy"])),
    ("  not explained", lambda o: _count(o["drops_by_place"]["unexplained"])),
    ("retransmitted", lambda o: _count(o["retransmitted"])),
    ("queue p50", lambda o: amount(o["queue_bytes"]["p50"])),
    ("queue p99", lambda o: amount(o["queue_bytes"]["p99"])),
    ("queue max", lambda o: amount(o["queue_bytes"]["max"])),
    ("PFC frames sent", lambda o: _count(o["pfc"]["tx"])),
    ("  received by switches", lambda o: _count(o["pfc"]["rx"])),
    ("paused, all queues", lambda o: milliseconds(o["pfc"]["paused_ms"])),
    ("marked CE", lambda o: _count(o["ecn"]["marked"])),
    ("CNPs of receivers", lambda o: _count(o["cnp"]["sent"])),
    ("  of the switch", lambda o: _count(o["cnp"]["ipcc"])),
    ("mice done", lambda o: _count(o["fct_ms"]["mice"]["n"])),
    ("  FCT p50", _fct("mice", "p50")),
    ("  FCT p99", _fct("mice", "p99")),
    ("elephants done", lambda o: _count(o["fct_ms"]["elephants"]["n"])),
    ("  FCT p50", _fct("elephants", "p50")),
    ("  FCT p99", _fct("elephants", "p99")),
]


_MAX_FLOWS = 4  # more of them would fill the table

_FAILURE_ROWS = [
    ("link failures", lambda f: _count(f["times"])),
    ("  ended in a deadlock", lambda f: _count(f["deadlocks"])),
    ("  longest standstill", lambda f: milliseconds(max(f["stuck_ms"], default=0))),
    ("goodput before them", lambda f: f"{f['goodput_before_mbps']:.1f} Mbit/s"),
    ("  in the last 0.5 s", lambda f: f"{f['goodput_end_mbps']:.1f} Mbit/s"),
    ("queues freed by a watchdog", lambda f: _count(f["queues_freed"])),
    ("  packets dropped for it", lambda f: _count(f["packets_freed"])),
    ("hook flows", lambda f: _count(f["hook_flows"])),
    ("  packets moved", lambda f: _count(f["hook_packets"])),
]


def _flow_rows(outcomes):
    flows = outcomes[0]["flows"]
    if len(flows) > _MAX_FLOWS:
        return []
    return [[f"  {f['from']} to {f['to']}", *[f"{o['flows'][i]['goodput_mbps']:.1f} Mbit/s" for o in outcomes]]
            for i, f in enumerate(flows)]


def rows(outcomes):
    """[label, value of each variant, …] for each figure."""
    table = [[label, *[cell(o) for o in outcomes]] for label, cell in _ROWS]
    if all("failures" in o for o in outcomes):
        table += [[label, *[cell(o["failures"]) for o in outcomes]] for label, cell in _FAILURE_ROWS]
    if all("dcbx" in o for o in outcomes):
        table.append(["links with DCBX, agreed", *[f"{sum(row['agreed'] for row in o['dcbx'])} of {len(o['dcbx'])}" for o in outcomes]])
    return [*table[:2], *_flow_rows(outcomes), *table[2:]]


def headline(outcome):
    o = outcome
    return (f"{o['lab']}: {o['senders']} senders at {o['link_mbps']:g} Mbit/s for {o['duration_s']:g} s, "
            f"seed {o['seed']}")


def table(outcomes):
    """The aligned text table, variants as columns."""
    lines = [["", *[o["variant"] for o in outcomes]], *rows(outcomes)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [headline(outcomes[0])]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *[c.rjust(w) for c, w in zip(line[1:], widths[1:])]]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


class Bar:
    """A progress bar on standard error; silent when that is no terminal."""

    def __init__(self, label, total_s, out=sys.stderr):
        self._label, self._total, self._out = label, total_s, out
        self._live = out.isatty()

    def update(self, seconds, status=""):
        if not self._live:
            return
        width = 24
        done = round(width * min(1.0, seconds / self._total)) if self._total else width
        line = f"{self._label} [{'#' * done}{'.' * (width - done)}] {seconds:4.1f}/{self._total:g} s  {status}"
        columns = shutil.get_terminal_size().columns
        self._out.write("\r" + line[:columns - 1].ljust(columns - 1))
        self._out.flush()

    def close(self):
        if self._live:
            self._out.write("\r\x1b[K")
            self._out.flush()
