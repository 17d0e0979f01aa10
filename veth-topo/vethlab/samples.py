# SPDX-License-Identifier: Apache-2.0
"""Series taken during a run, and the figures computed from them."""

import csv
import math
from dataclasses import dataclass


@dataclass
class QueueSample:
    t_ns: int  # CLOCK_MONOTONIC
    backlog_bytes: int
    dropped_packets: int
    sent_packets: int


def read_queue(path, port, tc):
    """The samples of one queue out of lab-sampler's CSV file."""
    with open(path, newline="") as f:
        return [QueueSample(int(row["t_ns"]), int(row["backlog_bytes"]), int(row["dropped_packets"]),
                            int(row["sent_packets"]))
                for row in csv.DictReader(f)
                if row["port"] == port and row["tc"] == str(tc) and row["sent_packets"]]


def window(samples, duration_s):
    """The samples from the first packet on, for `duration_s` seconds: the time in which traffic ran."""
    if not samples:
        return []
    base = samples[0]
    start = next((s.t_ns for s in samples if s.sent_packets > base.sent_packets or s.backlog_bytes > 0), base.t_ns)
    end = start + duration_s * 1e9
    return [s for s in samples if start <= s.t_ns <= end]


def percentile(values, share):
    """Nearest rank: the smallest value that at least `share` (0 to 1) of the values do not exceed."""
    if not values:
        return 0
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def depth_figures(samples):
    depths = [s.backlog_bytes for s in samples]
    return {"p50": percentile(depths, 0.5), "p99": percentile(depths, 0.99), "max": max(depths, default=0)}


def rate_series(points):
    """Counts over time to (middle of the step in ns, events per second)."""
    out = []
    for (t0, n0), (t1, n1) in zip(points, points[1:]):
        if t1 > t0:
            out.append(((t0 + t1) // 2, (n1 - n0) * 1e9 / (t1 - t0)))
    return out
