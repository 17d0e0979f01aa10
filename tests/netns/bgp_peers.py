# SPDX-License-Identifier: Apache-2.0
"""BGP speakers of others in a namespace, each with its own files in the sandbox, and what they say of their session."""

import json
import pwd
import shutil
import socket
import subprocess
import textwrap
from pathlib import Path

import pytest

ASN = 65001


def binary(*candidates):
    for name in candidates:
        found = shutil.which(name) or (name if Path(name).exists() else None)
        if found:
            return found
    pytest.fail(f"none of {', '.join(candidates)} is installed; scripts/setup test installs them")
    return None


class Peer:
    """One foreign speaker: `start()` it in a namespace, then ask `established()` and `routes()`."""

    name = ""

    def __init__(self, sandbox, netns, address="10.99.0.2", router="10.99.0.1", password="", passive=False, hold=9, gtsm=False, restart=False,
                 announces=True):
        self.sandbox, self.netns = sandbox, netns
        self.address, self.router, self.password, self.passive = address, router, password, passive
        self.hold, self.gtsm, self.restart, self.announces = hold, gtsm, restart, announces
        self.dir = sandbox.path / f"{self.name}-{netns[-6:]}"
        self.dir.mkdir(exist_ok=True)
        self.process = None

    def file(self, name, text):
        path = self.dir / name
        path.write_text(textwrap.dedent(text))
        return path

    def spawn(self, *command, env=None):
        if env:
            command = ("env", *(f"{k}={v}" for k, v in env.items()), *command)
        self.process = self.sandbox.spawn([str(c) for c in command], self.netns, log=f"{self.name}.log")

    def ask(self, *command):
        done = subprocess.run(["nsenter", f"--net=/run/netns/{self.netns}", *map(str, command)], text=True,
                              capture_output=True, check=False, timeout=20)
        return done.stdout

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Frr(Peer):
    name = "frr"

    def start(self):
        options = [f"neighbor {self.router} timers {self.hold // 3} {self.hold}"]
        options += [f"neighbor {self.router} password {self.password}"] if self.password else []
        options += [f"neighbor {self.router} passive"] if self.passive else []
        options += [f"neighbor {self.router} ttl-security hops 1"] if self.gtsm else []
        conf = "\n".join([f"router bgp {ASN}", f" bgp router-id {self.address}", " no bgp default ipv4-unicast",
                          " no bgp network import-check",
                          *([" bgp graceful-restart", " bgp graceful-restart restart-time 60"] if self.restart else []),
                          f" neighbor {self.router} remote-as {ASN}", *(f" {o}" for o in options),
                          " address-family ipv4 unicast", f"  neighbor {self.router} activate",
                          "  neighbor " + self.router + " soft-reconfiguration inbound",
                          *(["  network 192.0.2.0/24"] if self.announces else []),
                          " exit-address-family", "exit", ""])
        self.spawn(binary("/usr/lib/frr/bgpd"), "-Z", "-S", "-f", self.file("bgpd.conf", conf), "-i", self.dir / "pid",
                   "--vty_socket", self.dir, "-P", "0", "-u", "root", "-g", "root", "--log", "stdout")

    def vty(self, command):
        """One command over the daemon's own socket, as vtysh does it."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(str(self.dir / "bgpd.vty"))
            out = b""
            for line in ("enable", command):
                s.sendall(line.encode() + b"\0")
                out = b""
                # The answer ends with three zeros and a status.
                while len(out) < 4 or out[-4:-1] != bytes(3):
                    part = s.recv(65536)
                    if not part:
                        raise OSError("bgpd closed its vty")
                    out += part
            return out[:-4].decode()

    def neighbor(self):
        try:
            return json.loads(self.vty(f"show bgp neighbors {self.router} json")).get(self.router, {})
        except (OSError, ValueError):
            return {}

    def established(self):
        return self.neighbor().get("bgpState") == "Established"

    def routes(self):
        return set(json.loads(self.vty("show bgp ipv4 unicast json")).get("routes", {}))


class Bird(Peer):
    name = "bird"

    def start(self):
        options = [f"hold time {self.hold};"]
        options += [f'password "{self.password}";'] if self.password else []
        options += ["passive on;"] if self.passive else []
        options += ["ttl security on;"] if self.gtsm else []
        options += ["graceful restart on;", "graceful restart time 60;"] if self.restart else []
        conf = f"""\
            router id {self.address};
            protocol device {{ }}
            protocol static {{ ipv4; {"route 192.0.2.0/24 blackhole;" if self.announces else ""} }}
            protocol bgp lossless {{
              local {self.address} as {ASN};
              neighbor {self.router} as {ASN};
              {' '.join(options)}
              connect retry time 1; connect delay time 1; error wait time 1, 2;
              ipv4 {{ import all; export all; next hop self; }};
            }}
            """
        self.spawn(binary("bird", "/usr/sbin/bird"), "-f", "-c", self.file("bird.conf", conf), "-s", self.dir / "ctl")

    def ctl(self, *words):
        return self.ask(binary("birdc", "/usr/sbin/birdc"), "-s", self.dir / "ctl", *words)

    def established(self):
        return "Established" in self.ctl("show", "protocols", "all", "lossless")

    def routes(self):
        return {line.split()[0] for line in self.ctl("show", "route", "protocol", "lossless").splitlines()
                if "/" in line.split(" ")[0]}


class Gobgp(Peer):
    name = "gobgp"

    def start(self):
        extra = f'auth-password = "{self.password}"' if self.password else ""
        conf = f"""\
            [global.config]
            as = {ASN}
            router-id = "{self.address}"
            [[neighbors]]
            [neighbors.config]
            neighbor-address = "{self.router}"
            peer-as = {ASN}
            {extra}
            [neighbors.transport.config]
            passive-mode = {str(self.passive).lower()}
            [neighbors.timers.config]
            hold-time = {self.hold}
            keepalive-interval = {self.hold // 3}
            connect-retry = 1
            idle-hold-time-after-reset = 1
            [neighbors.graceful-restart.config]
            enabled = {str(self.restart).lower()}
            restart-time = 60
            [[neighbors.afi-safis]]
            [neighbors.afi-safis.config]
            afi-safi-name = "ipv4-unicast"
            [neighbors.afi-safis.mp-graceful-restart.config]
            enabled = {str(self.restart).lower()}
            """
        if self.gtsm:
            conf = conf.replace("            [neighbors.timers.config]",
                                "            [neighbors.ttl-security.config]\n            enabled = true\n            ttl-min = 255\n"
                                "            [neighbors.timers.config]")
        self.sandbox.run(self.netns, "ip", "link", "set", "lo", "up")
        self.spawn(binary("gobgpd"), "-f", self.file("gobgp.toml", conf), "-t", "toml", "--api-hosts", "127.0.0.1:50051",
                   "--pprof-disable")

    def cli(self, *words):
        return self.ask(binary("gobgp"), *words)

    def established(self):
        return "ESTABLISHED" in self.cli("neighbor", self.router).upper()

    def announce(self):
        self.cli("global", "rib", "add", "192.0.2.0/24", "nexthop", self.address)

    def routes(self):
        return {line.split()[1] for line in self.cli("global", "rib").splitlines() if line.startswith("*")}


class Openbgpd(Peer):
    name = "openbgpd"

    def start(self):
        options = [f"holdtime {self.hold}"]
        options += [f'tcp md5sig password "{self.password}"'] if self.password else []
        options += ["passive"] if self.passive else []
        options += ["ttl-security yes"] if self.gtsm else []
        conf = "\n".join([f"AS {ASN}", f"router-id {self.address}", f'socket "{self.dir}/ctl"', "fib-update no",
                          "network 192.0.2.0/24", f"neighbor {self.router} {{", f"  remote-as {ASN}",
                          f"  local-address {self.address}", *(f"  {o}" for o in options), "  announce IPv4 unicast",
                          "}", "allow from any", "allow to any", ""])
        # What its service would make: the empty folder that its parts lock themselves into.
        Path(pwd.getpwnam("_openbgpd").pw_dir).mkdir(mode=0o755, exist_ok=True)
        path = self.file("openbgpd.conf", conf)
        path.chmod(0o600)
        self.spawn(binary("/usr/sbin/bgpd"), "-d", "-f", path)

    def ctl(self, *words):
        return self.ask(binary("bgpctl", "/usr/sbin/bgpctl"), "-s", self.dir / "ctl", "-j", *words)

    def established(self):
        try:
            return any(n["state"] == "Established" for n in json.loads(self.ctl("show", "neighbor"))["neighbors"])
        except (ValueError, KeyError):
            return False

    def routes(self):
        try:
            return {r["prefix"] for r in json.loads(self.ctl("show", "rib"))["rib"]}
        except (ValueError, KeyError):
            return set()


# Teaches Debian's ExaBGP one opaque family, under the name "inof inof"; all the rest is its own.
EXABGP_FAMILY = '''
import sys
if 'exabgp' in ' '.join(sys.orig_argv):
    from exabgp.protocol import family as F
    A, S = F._AFI(6000), F._SAFI(254)
    F._AFI._names[6000] = F._SAFI._names[254] = 'inof'
    F.AFI.inof, F.SAFI.inof = A, S
    for where, value in ((F.AFI, A), (F.SAFI, S)):
        where.common[value.pack()] = value
        where.codes['inof'] = value
        where.cache[value] = value
    known = F.AFI.implemented_safi
    F.AFI.implemented_safi = staticmethod(lambda a: ['inof'] if a == 'inof' else known(a))
    F.Family.size[(A, S)] = ((4, 16), 0)
    from exabgp.bgp.message.update.nlri.nlri import NLRI
    from exabgp.bgp.message import OUT
    from exabgp.protocol.ip import NoNextHop

    @NLRI.register(6000, 254)
    class Inof(NLRI):
        def __init__(self, raw, action=OUT.UNSET):
            NLRI.__init__(self, A, S, action)
            self.raw, self.nexthop = raw, NoNextHop
        def pack_nlri(self, negotiated=None): return self.raw
        def index(self): return NLRI._index(self) + self.raw
        def __str__(self): return 'inof ' + self.raw.hex()
        def extensive(self): return str(self)
        def json(self, compact=None): return '{ "raw": "%s" }' % self.raw.hex()
        def feedback(self, action): return ''
        @classmethod
        def unpack_nlri(cls, afi, safi, data, action, addpath): return cls(bytes(data), action), b''
    from exabgp.configuration.neighbor import family as CF
    CF.ParseFamily.convert['inof'] = {'inof': (A, S)}
    CF.ParseFamily.action['inof'] = 'append-command'
    first = CF.ParseFamily.__init__
    def init(self, *a, **k):
        first(self, *a, **k)
        self.known['inof'] = lambda tokens: self._family(tokens, 'inof')
    CF.ParseFamily.__init__ = init
'''

EXABGP_DUMP = '''
import os, sys
with open(os.environ["LL_DUMP"], "a") as out:
    for line in sys.stdin:
        out.write(line)
        out.flush()
'''


class Exabgp(Peer):
    """With `inof`, the family 6000/254; else IPv4 unicast. `attributes`: raw text for its static route."""

    name = "exabgp"

    def __init__(self, *args, inof=False, attributes="", **more):
        super().__init__(*args, **more)
        self.inof, self.attributes = inof, attributes

    def start(self):
        self.file("sitecustomize.py", EXABGP_FAMILY)
        self.file("dump.py", EXABGP_DUMP)
        self.dump = self.dir / "dump.json"
        self.dump.write_text("")
        family = "inof inof;" if self.inof else "ipv4 unicast;"
        if self.attributes:
            family = "ipv4 unicast; inof inof;"
        static = "" if self.inof and not self.attributes else \
            f"static {{ route 192.0.2.0/24 next-hop {self.address} {self.attributes}; }}"
        options = f'md5-password "{self.password}";' if self.password else ""
        options += "passive;" if self.passive else ""
        conf = f"""\
            process dump {{ run /usr/bin/python3 {self.dir}/dump.py; encoder json; }}
            neighbor {self.router} {{
              router-id {self.address}; local-address {self.address}; local-as {ASN}; peer-as {ASN};
              hold-time {self.hold}; {options}
              {"incoming-ttl 255; outgoing-ttl 255;" if self.gtsm else ""}
              family {{ {family} }}
              capability {{ route-refresh enable; {"graceful-restart 60;" if self.restart else ""} }}
              api {{ processes [ dump ]; neighbor-changes; receive {{ parsed; update; open; refresh; notification; }} }}
              {static}
            }}
            """
        self.spawn(binary("exabgp"), self.file("exabgp.conf", conf),
                   env={"PYTHONPATH": self.dir, "LL_DUMP": self.dump, "exabgp.daemon.user": "root",
                        "exabgp.api.cli": "false", "exabgp.log.level": "INFO", "exabgp.tcp.delay": "0"})

    def said(self):
        lines = []
        for line in self.dump.read_text().splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
        return lines

    def established(self):
        states = [m["neighbor"]["state"] for m in self.said() if m.get("type") == "state"]
        return bool(states) and states[-1] == "up"


OTHERS = {p.name: p for p in (Frr, Bird, Gobgp, Openbgpd, Exabgp)}
