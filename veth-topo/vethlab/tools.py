# SPDX-License-Identifier: Apache-2.0
"""Where the built programs are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PLACES = {
    "losslessd": "daemon/losslessd",
    "losslessctl": "cli/losslessctl",
    "endpoint": "veth-topo/endpoint/endpoint",
    "lab-sampler": "veth-topo/sampler/lab-sampler",
}


class ToolError(RuntimeError):
    """A program of ours was not built."""


class Tools:
    """The programs of one build folder: that of --build, else $LL_BUILD, else build/ of the source tree."""

    def __init__(self, build=None):
        self.build = Path(build or os.environ.get("LL_BUILD") or ROOT / "build").resolve()

    def path(self, name):
        program = self.build / _PLACES[name]
        if not program.is_file():
            raise ToolError(f"{name} is not built: no {program}; build it (cmake --preset release && "
                            f"cmake --build build) or name another build folder with --build")
        return str(program)

    def check(self):
        for name in _PLACES:
            self.path(name)
