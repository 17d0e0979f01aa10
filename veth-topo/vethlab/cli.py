# SPDX-License-Identifier: Apache-2.0
"""The `lab` command."""

import argparse
import json
import os
import sys
from pathlib import Path

from . import inof_fabric_lab, inof_lab, interrupts, outcome, report, rundir, topology
from .namespaces import NamespaceError
from .runner import run_variant
from .switchd import DaemonError
from .tools import ROOT, ToolError, Tools
from .topology import TopologyError
from .traffic import TrafficError
from .waiting import WaitTimeout

TOPOLOGIES = ROOT / "veth-topo" / "topologies"
_FAILURES = (TopologyError, ToolError, NamespaceError, DaemonError, TrafficError, WaitTimeout, OSError)


def _file_of(lab):
    path = TOPOLOGIES / f"{lab}.toml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in TOPOLOGIES.glob("*.toml")))
        raise TopologyError(f"no lab '{lab}'; labs are {known}")
    return path


def _number(text):
    value = float(text)
    return int(value) if value.is_integer() else value


def _parameters(options):
    given = {name: getattr(options, name) for name in ("senders", "rate", "triggers") if getattr(options, name) is not None}
    for item in options.set:
        name, equals, value = item.partition("=")
        if not equals:
            raise TopologyError(f"--set {item}: must be NAME=NUMBER")
        try:
            given[name] = _number(value)
        except ValueError:
            raise TopologyError(f"--set {item}: '{value}' is no number") from None
    return given


def _variants(path, wanted):
    known = topology.variants_of(topology.read_file(path))
    names = [n for item in wanted or ["all"] for n in item.split(",")]
    return known if "all" in names else list(dict.fromkeys(names))


def _run_all(options, path):
    given = _parameters(options)
    loaded = [topology.load(path, v, given, options.duration) for v in _variants(path, options.variant)]
    tools = Tools(options.build)
    tools.check()
    measured = []
    for one in loaded:
        bar = report.Bar(f"{one.lab} {one.variant}", one.duration_s)
        try:
            measured.append(run_variant(one, tools, options.seed, options.keep, bar.update))
        finally:
            bar.close()
    return measured


def _write_outputs(options, measured):
    outcomes = [m.outcome for m in measured]
    if options.json:
        text = json.dumps(outcome.document(outcomes), indent=2) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            Path(options.json).write_text(text)
    for path in options.plot:
        from . import plot  # late: matplotlib takes a second to load
        plot.write(path, measured)
    for one in measured:
        if one.missed_share > 0.1:
            print(f"lab: {one.outcome['variant']}: {one.missed_share:.0%} of the queue samples are missing: the "
                  f"machine was too busy", file=sys.stderr)
    if options.json != "-":
        print(report.table(outcomes))
        written = [path for path in (options.json, *options.plot) if path]
        if written:
            print(f"written: {', '.join(written)}")


def _check_outputs(options):
    """Before minutes of measuring: can the results be written at all?"""
    for path in (options.json, *options.plot):
        if path and path != "-" and not os.access(Path(path).resolve().parent, os.W_OK):
            raise TopologyError(f"{path}: its folder is not there or cannot be written")
    for path in options.plot:
        if Path(path).suffix not in (".svg", ".html", ".png"):
            raise TopologyError(f"{path}: a plot ends in .svg, .html or .png")


_INOF_LABS = {"inof": inof_lab, "inof-fabric": inof_fabric_lab}


def _run_inof(options, path, lab):
    """A lab of hosts that come and go: its outcome has no queues and no plot."""
    if options.plot:
        raise TopologyError(f"--plot: {path.stem} has nothing to draw")
    given = _parameters(options)
    tools = Tools(options.build)
    outcomes = []
    for variant in _variants(path, options.variant):
        def say(text, variant=variant):
            print(f"\r\033[K{path.stem} {variant}: {text}", end="", file=sys.stderr, flush=True)
        progress = say if sys.stderr.isatty() else lambda text: None
        outcomes.append(lab.run_variant(path, variant, given, tools, options.keep, progress))
        progress("done\n")
    if options.json:
        text = json.dumps(outcome.document(outcomes), indent=2) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            Path(options.json).write_text(text)
    if options.json != "-":
        print(inof_lab.table(outcomes))
    return 0


def _cmd_run(options):
    _check_outputs(options)
    path = _file_of(options.lab)
    kind = topology.read_file(path).get("kind")
    if kind in _INOF_LABS:
        return _run_inof(options, path, _INOF_LABS[kind])
    measured = _run_all(options, path)
    _write_outputs(options, measured)
    return 0


def _cmd_list(_options):
    for path in sorted(TOPOLOGIES.glob("*.toml")):
        document = topology.read_file(path)
        print(f"{path.stem}: {document.get('title', '')}")
        for name, spec in document.get("parameters", {}).items():
            bounds = f"{spec.get('min', '')}..{spec.get('max', '')}"
            print(f"  --{name:<12} {spec.get('help', '')} (default {spec['default']}, {bounds})")
        print(f"  --variant      {', '.join(topology.variants_of(document))}")
    return 0


def _cmd_clean(_options):
    removed = rundir.clean()
    print(f"removed what {len(removed)} dead runs left: {', '.join(removed)}" if removed else "nothing to remove")
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="lab", description="Labs on network namespaces with real RoCEv2 traffic.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="build a lab, run its traffic, report, remove it")
    run.add_argument("lab", help="name of a topology (see `lab list`)")
    run.add_argument("--variant", action="append", metavar="NAME[,NAME]",
                     help="variants to run, one after the other; `all` (default) for all")
    run.add_argument("--senders", type=_number, metavar="N", help="number of senders")
    run.add_argument("--rate", type=_number, metavar="MBIT", help="link rate in Mbit/s")
    run.add_argument("--triggers", type=_number, metavar="N", help="times that a link fails, in labs where one does")
    run.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="any other parameter of the lab")
    run.add_argument("--duration", type=float, metavar="S", help="seconds of traffic in each variant")
    run.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all randomness (default 1)")
    run.add_argument("--json", metavar="FILE", help="write the outcome as JSON; - is standard output")
    run.add_argument("--plot", action="append", default=[], metavar="FILE",
                     help="draw queue depth, marks and goodput: .svg, .html or .png; may be repeated")
    run.add_argument("--keep", action="store_true", help="leave namespaces and daemons for a look; `lab clean` removes")
    run.add_argument("--build", metavar="DIR", help="build folder (default: $LL_BUILD, then build/)")
    run.set_defaults(function=_cmd_run)
    commands.add_parser("list", help="the labs, their parameters and variants").set_defaults(function=_cmd_list)
    commands.add_parser("clean", help="remove what dead runs left behind").set_defaults(function=_cmd_clean)
    return parser


def main(arguments=None):
    """Exit code: 0 done, 1 failed, 2 wrong usage, 128 + signal when interrupted."""
    options = _parser().parse_args(arguments)
    if options.command != "list" and os.geteuid() != 0:
        print("lab: must run as root (it makes network namespaces)", file=sys.stderr)
        return 1
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"  # a plain `su` leaves them out: bridge
    interrupts.install()
    try:
        return options.function(options)
    except interrupts.Interrupted as e:
        print(f"lab: stopped by {e}", file=sys.stderr)
        return 128 + e.signum
    except _FAILURES as e:
        print(f"lab: {e}", file=sys.stderr)
        return 1
