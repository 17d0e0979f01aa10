# SPDX-License-Identifier: Apache-2.0
"""Packets that left a queue without the datapath being told.

Some kernels (those of hosted machines) run no tracing program while a process of the machine's own supervisor is
what an interrupt came upon. A packet that leaves a queue just then stays in the buffer model until it is healed, and
the kernel does not count that as a run left out. Its own trace shows such packets, and so tells them from ours that
were counted wrong."""

import re
from pathlib import Path

LOG_DEBUG = ("--log-level", "debug")  # the daemon says what it sets right

# In a mount namespace of its own, so that no mount is left behind.
SCRIPT = """
mount -t tracefs none /sys/kernel/tracing || exit
cd /sys/kernel/tracing/instances && mkdir "$0" || exit
trap 'echo 0 >"$0/events/net/net_dev_start_xmit/enable"; kill $!; wait; rmdir "$0"' EXIT
trap exit TERM INT
echo 1 >"$0/events/net/net_dev_start_xmit/enable"
cat "$0/trace_pipe" &
echo tracing
wait
"""


class Departures:
    """The kernel's trace of packets that are handed to a device, from now until stop()."""

    def __init__(self, sandbox, wait_for):
        self._log = sandbox.path / "departures.trace"
        self._wait_for = wait_for
        self._process = sandbox.spawn(["unshare", "--mount", "sh", "-c", SCRIPT, f"ll-{sandbox.rundir.run_id}"],
                                      log=self._log.name)
        wait_for(lambda: self._process.poll() is not None or "tracing\n" in self._log.read_text(),
                 what="a trace, or a kernel without tracefs")

    def stop(self):
        self._process.terminate()
        self._process.wait(timeout=10)

    def unseen_bytes(self):
        """Bytes of the packets that left while a thread of process 1 was running."""
        threads = {task.name for task in Path("/proc/1/task").iterdir()}
        found = re.findall(r"^ *\S.*?-(\d+) +\[\d+\] .* net_dev_start_xmit: .* len=(\d+) ", self._log.read_text(), re.M)
        return sum(int(size) for pid, size in found if pid in threads)

    def nothing_set_right(self, daemon):
        """Fails when the buffer model of `daemon` (which logs at level debug) had to be healed of more than that."""
        now = daemon.ctl("show", "buffer")
        lines = [line for line in daemon.log.read_text().splitlines() if "buffer model: " in line]
        drifted = sum(int(re.search(r"model: (\d+) bytes", line)[1]) for line in lines)
        assert len(lines) == int(now["healed"])
        if drifted:
            print(f"{drifted} bytes set right; {self.unseen_bytes()} left unseen")
        self._wait_for(lambda: self.unseen_bytes() >= drifted, limit_s=2,
                       what=f"the trace to explain {drifted} bytes that were set right ({now['missed']} runs left out, "
                            f"{self.unseen_bytes()} bytes unseen): {lines}")
