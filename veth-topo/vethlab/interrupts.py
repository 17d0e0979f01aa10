# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and its like as an exception that unwinds through every clean-up, but never in the middle of a step
that must be whole (a process started but not yet on record, a clean-up half done)."""

import contextlib
import signal

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """One of STOP_SIGNALS came."""

    def __init__(self, signum):
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


_holds = 0
_pending = None
_raised = False


def _on_signal(signum, _frame):
    global _pending, _raised
    if _raised:
        return  # an impatient second Ctrl-C must not cut short the clean-up the first one began
    if _holds:
        _pending = signum
        return
    _raised = True
    raise Interrupted(signum)


def install():
    """From now on STOP_SIGNALS raise Interrupted, once."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, _on_signal)


@contextlib.contextmanager
def held():
    """Puts an interrupt off until the block is done. Handlers, not signal masks: a mask would be inherited
    by the processes started in the block, and those could then not be stopped."""
    global _holds, _pending
    _holds += 1
    try:
        yield
    finally:
        _holds -= 1
        if _holds == 0 and _pending is not None:
            signum, _pending = _pending, None
            _on_signal(signum, None)
