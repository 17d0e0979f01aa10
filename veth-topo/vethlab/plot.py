# SPDX-License-Identifier: Apache-2.0
"""Queue depth, marks and goodput over time, the variants laid over each other."""

import html
import io
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)

from . import report, samples  # noqa: E402

# Told apart by the colour-blind as well (Okabe-Ito).
_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9")
_STYLE = {"svg.fonttype": "path", "svg.hashsalt": "lab", "font.size": 10, "axes.grid": True,
          "grid.color": "#dddddd", "axes.spines.top": False, "axes.spines.right": False,
          "figure.facecolor": "white", "axes.axisbelow": True}
_GREY = "#555555"
_BINS = 400


def _envelope(measured):
    """(seconds, lowest KB, mean KB, highest KB) in at most _BINS steps: no peak gets lost."""
    queue = measured.queue
    step = max(1, len(queue) // _BINS)
    out = []
    for i in range(0, len(queue), step):
        part = [s.backlog_bytes / 1000 for s in queue[i:i + step]]
        out.append(((queue[i].t_ns - measured.start_ns) / 1e9, min(part), sum(part) / len(part), max(part)))
    return out


def _draw_queue(axes, measured, colour):
    points = _envelope(measured)
    if not points:
        return
    t, low, mean, high = zip(*points)
    axes.fill_between(t, low, high, color=colour, alpha=0.25, linewidth=0)
    p99 = measured.outcome["queue_bytes"]["p99"]
    axes.plot(t, mean, color=colour, linewidth=1.2,
              label=f"{measured.outcome['variant']} (p99 {report.amount(p99)})")


def _note(axes, y, text):
    """A word in the right margin at height y."""
    axes.annotate(text, (1, y), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                  va="center", fontsize=8, color=_GREY)


def _rule(axes, y, text):
    axes.axhline(y, color=_GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.9)
    _note(axes, y, text)


def _draw_thresholds(axes, runs):
    """Where marking begins and is complete, and where packets are lost."""
    bands = {(r.thresholds["kmin"], r.thresholds["kmax"]) for r in runs if r.thresholds.get("kmax")}
    for kmin, kmax in bands:
        axes.axhspan(kmin / 1000, kmax / 1000, color=_GREY, alpha=0.18, linewidth=0, zorder=0.9)
        _note(axes, (kmin + kmax) / 2000, "Kmin\u2013Kmax")
    for limit in {r.thresholds["limit"] for r in runs if r.thresholds.get("limit")}:
        _rule(axes, limit / 1000, "limit")


def _draw_marks(axes, measured, colour):
    points = [((t - measured.start_ns) / 1e9, rate) for t, rate in samples.rate_series(measured.marks)]
    points = [p for p in points if p[0] >= 0]
    total = measured.outcome["ecn"]["marked"]
    if points:
        axes.plot(*zip(*points), color=colour, linewidth=1.2, drawstyle="steps-mid",
                  label=f"{measured.outcome['variant']} ({total:,} marked)")


def _draw_goodput(axes, measured, colour):
    if measured.goodput:
        t, mbps = zip(*measured.goodput)
        axes.plot([ms / 1000 for ms in t], mbps, color=colour, linewidth=1.2,
                  label=f"{measured.outcome['variant']} ({measured.outcome['goodput_mbps']:.1f} Mbit/s)")


def _draw_failures(axes, measured):
    """The times in which the lab's link was down."""
    seconds = [(event.ns - measured.start_ns) / 1e9 for event in measured.failures]
    for down, up in zip(seconds[::2], [*seconds[1::2], measured.outcome["duration_s"]]):
        axes.axvspan(down, up, color=_GREY, alpha=0.12, linewidth=0, zorder=0.8)
    if seconds:
        axes.annotate("link down", ((seconds[0]), 1), xycoords=("data", "axes fraction"), xytext=(2, -10),
                      textcoords="offset points", fontsize=8, color=_GREY)


def figure(runs):
    """The matplotlib figure of a list of runner.Measured."""
    with plt.rc_context(_STYLE):
        fig, (queue, marks, goodput) = plt.subplots(3, 1, figsize=(9, 7.5), sharex=True,
                                                    height_ratios=(3, 1.6, 1.8), layout="constrained")
        for run, colour in zip(runs, _COLOURS * len(runs)):
            _draw_queue(queue, run, colour)
            _draw_marks(marks, run, colour)
            _draw_goodput(goodput, run, colour)
        _draw_thresholds(queue, runs)
        for axes in (queue, marks, goodput):
            _draw_failures(axes, runs[0])
        _rule(goodput, runs[0].outcome["goodput_limit_mbps"], "limit")
        for axes, label in ((queue, "queue depth (KB)"), (marks, "marked CE (1/s)"),
                            (goodput, "goodput (Mbit/s)")):
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1, frameon=False, ncols=5,
                            fontsize=9)
        fig.align_ylabels()
        goodput.set_xlabel("time (s)")
        goodput.set_xlim(0, max(r.outcome["duration_s"] for r in runs))
        fig.suptitle(report.headline(runs[0].outcome), fontsize=12)
        return fig


def _table_html(outcomes):
    head = "".join(f"<th>{html.escape(o['variant'])}</th>" for o in outcomes)
    body = "".join("<tr><th>" + html.escape(label.strip()) + "</th>"
                   + "".join(f"<td>{html.escape(v)}</td>" for v in values) + "</tr>\n"
                   for label, *values in report.rows(outcomes))
    return f"<table><thead><tr><th></th>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
svg {{ width: 100%; height: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .2rem .9rem; border-bottom: 1px solid #ddd; text-align: right; }}
tbody th {{ text-align: left; font-weight: normal; }}
</style></head><body>
<h1>{title}</h1>
{svg}
{table}
</body></html>
"""


def write(path, runs):
    """Draws into `path`: .svg and .png are the picture, .html the picture and the table on one page."""
    fig = figure(runs)
    with plt.rc_context(_STYLE):
        if Path(path).suffix != ".html":
            fig.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None, dpi=110)
            return
        svg = io.StringIO()
        fig.savefig(svg, format="svg", metadata={"Date": None})
    picture = svg.getvalue()
    picture = picture[picture.index("<svg"):]  # HTML takes the element, not the XML prologue
    outcomes = [r.outcome for r in runs]
    Path(path).write_text(_PAGE.format(title=html.escape(report.headline(outcomes[0])), svg=picture,
                                       table=_table_html(outcomes)))
