# SPDX-License-Identifier: Apache-2.0
"""Child processes of a run: started so that they cannot outlive it, stopped by pid."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path


def start_time(pid):
    """Start time of a process in clock ticks since boot; with the pid it names one process for good.
    None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2:].split()
    return None if fields[0] == "Z" else int(fields[19])


def spawn(command, log, netns=None, die_with_parent=True):
    """Starts a command, in `netns` when given, with its output in the file `log`.

    It gets a session of its own: Ctrl-C reaches the lab alone, which then stops its children in order.
    `nsenter` keeps the mount namespace, so /sys/fs/bpf stays visible (`ip netns exec` would hide it)."""
    prefix = ["setpriv", "--pdeathsig", "KILL"] if die_with_parent else []
    if netns:
        prefix += ["nsenter", f"--net=/run/netns/{netns}"]
    with open(log, "ab") as out:
        return subprocess.Popen([*prefix, *map(str, command)], stdin=subprocess.DEVNULL, stdout=out,
                                stderr=subprocess.STDOUT, start_new_session=True)


def stop(process, limit_s=5.0):
    """SIGTERM, then SIGKILL after `limit_s` seconds. Returns the exit code (negative: signal)."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def kill_recorded(pid, started):
    """Kills a process of an earlier run, if it is still the one that was recorded."""
    if start_time(pid) == started:
        with contextlib.suppress(ProcessLookupError):  # it may end between the two
            os.kill(pid, signal.SIGKILL)


def exit_text(code):
    """"exit code 3" or "killed by SIGKILL"."""
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def tail(path, lines=20):
    """The last lines of a log file, "" when there is none."""
    try:
        text = Path(path).read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
