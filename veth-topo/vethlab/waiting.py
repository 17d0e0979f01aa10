# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition, never for a time."""

import time


class WaitTimeout(TimeoutError):
    """The condition did not come true within its limit."""


def wait_for(condition, limit_s=10.0, what="the condition", every_s=0.02):
    """Polls `condition` until it is true-ish and returns its value; WaitTimeout after `limit_s` seconds."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise WaitTimeout(f"{what}: not reached within {limit_s:g} s")
        time.sleep(every_s)
