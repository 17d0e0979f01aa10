# SPDX-License-Identifier: Apache-2.0
"""Debian's lldpad as a neighbour that speaks DCBX, on an interface with the DCB side of tests/vm/dcbsim."""

import subprocess
from pathlib import Path

from dcbsim import run
from vethlab import processes

STRICT, ETS = "strict", "ets"
CEE, ONLY_CEE, ONLY_CEE_100 = 2, 6, 5  # dcbx_version: beside IEEE, or instead
TCS = range(8)
LINK_STRICT = 2
STRICT_GROUP = 7  # what its configuration calls CEE's group 15


def tlv(subtype, **keys):
    return f"    tlvid0080c2{subtype:02x} : {{ enableTx = true; " + " ".join(f"{k} = {v};" for k, v in keys.items()) + " };\n"


def group(**keys):
    return "{ " + " ".join(f"{k} = {v};" for k, v in keys.items()) + " }"


def array(values):
    return "[ " + ", ".join(map(str, values)) + " ]"


def cee_config(pfc, shares, iscsi, willing):
    """Its settings of one interface in CEE. `shares`: percent by group, which is a priority's own number; priorities
    without one are strict."""
    groups = group(traffic_class_mapping=array(i if i in shares else STRICT_GROUP for i in TCS),
                   bandwidth_group_mapping=array(TCS),
                   percent_of_bandwidth_group=array(100 if i in shares else 0 for i in TCS),
                   strict_priority=array(0 if i in shares else LINK_STRICT for i in TCS))
    alloc = array(shares.get(i, 0) for i in TCS)
    on = {"enable": 1, "advertise": 1, "willing": int(willing)}

    def feature(name, **more):
        return {f"{name}_{key}": value for key, value in {**on, **more}.items()}
    # FCoE (0) and FIP (2), the others that it knows, are not said.
    apps = {f"app_{i}": group(**feature("app", advertise=int(i == 1), cfg=f'"{1 << iscsi:02x}"')) for i in range(3)}
    return group(dcb_enable=1, **feature("pfc", admin_mode=array(int(i in pfc) for i in TCS)),
                 **feature("pg", tx_bwg_alloc=alloc, tx_traffic_attribs_type=groups, rx_bwg_alloc=alloc,
                           rx_traffic_attribs_type=groups),
                 bwg_description=array('""' for _ in TCS), **apps, llink_0=group(**feature("llink", advertise=0)))


class Lldpad:
    """One lldpad for one interface. Its socket is abstract, so of the network namespace; its shared memory is
    the machine's, and cleared before it starts."""

    def __init__(self, sandbox, netns, port, wait_for, root="/"):
        """`root`: the folder its program and libraries are in, tests/vm/lldpad's or the machine's own."""
        self.netns, self.port, self._root = netns, port, Path(root)
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
        self._run(f'dcbx : {{ version = "1.0"; dcbx_version = {CEE}; }};\n'
                  f"lldp : {{ {self.port} : {{ adminStatus = 3;\n{tlvs}  }}; }};\n")

    def start_cee(self, pfc, shares, iscsi, willing=False, version=ONLY_CEE):
        """The same in CEE, which Debian 12's lldpad does not send. `iscsi`: priority of iSCSI, the one application."""
        self.stop()
        self._run(f'dcbx : {{ version = "1.0"; dcbx_version = {version};\n'
                  f"  {self.port} : {cee_config(pfc, shares, iscsi, willing)}; }};\n"
                  f"lldp : {{ {self.port} : {{ adminStatus = 3; tlvid001b2102 : {{ enableTx = true; }};\n"
                  "    tlvid001b2101 : { enableTx = true; }; }; };\n")

    def _run(self, config):
        self._config.write_text(config)
        run(*self._program("lldpad"), "-s")
        self._process = self._sandbox.spawn([*self._program("lldpad"), "-f", self._config, "-p", "-t", "-V", "7"],
                                            self.netns, "lldpad.log")
        self._wait_for(lambda: self.tool("lldptool", "-p").returncode == 0, 30, "lldpad to answer")

    def _program(self, name):
        usr = self._root / "usr"
        return [str(usr / "lib64/ld-linux-x86-64.so.2"), "--library-path", str(usr / "lib/x86_64-linux-gnu"),
                str(usr / "sbin" / name)]

    def stop(self):
        if self._process:
            processes.stop(self._process)
            self._process = None

    def deafen(self):
        """It goes on to speak as it does, whatever the other end says."""
        done = self.tool("lldptool", "-L", "-i", self.port, "adminStatus=tx")
        assert done.returncode == 0, done.stdout + done.stderr

    def neighbour(self):
        """What it has heard, as it reads it."""
        return self.tool("lldptool", "-t", "-n", "-i", self.port).stdout

    def operational(self, feature):
        """What `dcbtool go` shows of it ("pg", "pfc", "app:1"): key -> words. Of CEE."""
        done = self.tool("dcbtool", "go", self.port, feature)
        assert done.returncode == 0, done.stdout + done.stderr
        return {key: words.split() for key, colon, words in (line.partition(":") for line in done.stdout.splitlines())}

    def set(self, feature, *settings):
        """`dcbtool sc`, while it runs."""
        done = self.tool("dcbtool", "sc", self.port, feature, *settings)
        assert done.returncode == 0, done.stdout + done.stderr

    def tool(self, name, *words):
        """lldptool or dcbtool, as ended."""
        inside = ["nsenter", f"--net=/run/netns/{self.netns}"]
        return subprocess.run([*inside, *self._program(name), *words], text=True, capture_output=True, check=False)
