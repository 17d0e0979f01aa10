# SPDX-License-Identifier: Apache-2.0
"""Debian's lldpad as a neighbour that speaks DCBX, on an interface with the DCB side of tests/vm/dcbsim."""

import signal
import subprocess

from dcbsim import run
from vethlab import processes

STRICT, ETS = "strict", "ets"
CEE = 2  # dcbx_version: what it understands beside IEEE
TCS = range(8)


def tlv(subtype, **keys):
    return f"    tlvid0080c2{subtype:02x} : {{ enableTx = true; " + " ".join(f"{k} = {v};" for k, v in keys.items()) + " };\n"


class Lldpad:
    """One lldpad for one interface. Its socket is abstract, so of the network namespace; its shared memory is
    the machine's, and cleared before it starts."""

    def __init__(self, sandbox, netns, port, wait_for):
        self.netns, self.port = netns, port
        self._sandbox, self._wait_for = sandbox, wait_for
        self._config = sandbox.path / "lldpad.conf"
        self._process = None

    def start(self, pfc, shares, apps=(), willing=False):
        """`pfc`: priorities; `shares`: percent by TC, others are strict; `apps`: (priority, selector, protocol)."""
        self.stop()
        tsa = ",".join(f"{tc}:{ETS if tc in shares else STRICT}" for tc in TCS)
        table = {"tsa": f'"{tsa}"', "up2tc": '"' + ",".join(f"{i}:{i}" for i in TCS) + '"',
                 "tcbw": '"' + ",".join(str(shares.get(tc, 0)) for tc in TCS) + '"'}
        entries = {f"APP{i}": '"' + ",".join(map(str, app)) + '"' for i, app in enumerate(apps)}
        tlvs = (tlv(9, willing=int(willing), **table) + tlv(10, **table)
                + tlv(11, willing=int(willing), enabled=sum(1 << p for p in pfc)) + tlv(12, **entries))
        self._config.write_text(f'dcbx : {{ version = "1.0"; dcbx_version = {CEE}; }};\n'
                                f"lldp : {{ {self.port} : {{ adminStatus = 3;\n{tlvs}  }}; }};\n")
        run("lldpad", "-s")
        self._process = self._sandbox.spawn(["lldpad", "-f", self._config, "-p", "-t", "-V", "7"], self.netns, "lldpad.log")
        self._wait_for(lambda: self._tool("lldptool", "-p").returncode == 0, 30, "lldpad to answer")

    def stop(self):
        if self._process:
            self._process.send_signal(signal.SIGCONT)
            processes.stop(self._process)
            self._process = None

    def freeze(self):
        """It hears and says nothing more, until stop()."""
        self._process.send_signal(signal.SIGSTOP)

    def neighbour(self):
        """What it has heard, as it reads it."""
        return self._tool("lldptool", "-t", "-n", "-i", self.port).stdout

    def _tool(self, *words):
        inside = ["nsenter", f"--net=/run/netns/{self.netns}"]
        return subprocess.run([*inside, *words], text=True, capture_output=True, check=False)
