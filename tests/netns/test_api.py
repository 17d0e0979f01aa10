# SPDX-License-Identifier: Apache-2.0
"""The API as others see it: spoken by curl, not by our client."""

import json
import subprocess


def call(daemon, method, message=b""):
    """One gRPC call over HTTP/2; the reply's messages as raw protobuf."""
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--max-time", "10", "--http2-prior-knowledge", "--unix-socket", daemon.socket,
         "-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@-", "-o", "-",
         f"http://localhost/{method}"],
        input=b"\0" + len(message).to_bytes(4, "big") + message, capture_output=True, check=True)
    return done.stdout[5:]


def test_reflection_lists_the_service(star):
    d = star(2).daemon()
    # ServerReflectionRequest { list_services: "*" } is field 7, a string.
    reply = call(d, "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", b"\x3a\x01*")
    assert b"lossless.v1.Lossless" in reply


def test_a_plain_client_gets_what_losslessctl_shows(star):
    d = star(2).daemon()
    reply = call(d, "lossless.v1.Lossless/ListPorts")
    for port in d.ctl("show", "ports")["ports"]:
        assert port["name"].encode() in reply


def test_every_show_has_json_and_a_table(star):
    d = star(2).daemon()
    for what in ("ports", "queues", "ecn", "priority-map", "capabilities", "version"):
        json.loads(d.run_ctl("show", what, "--json").stdout)
        table = d.run_ctl("show", what)
        assert table.returncode == 0 and table.stdout and not table.stderr
        assert "\x1b" not in table.stdout, "colour belongs on a terminal"


def test_errors_name_what_there_is(star):
    d = star(2).daemon()
    done = d.run_ctl("show", "ports", "eth9")
    assert done.returncode == 1 and "no port eth9; ports are h1, h2" in done.stderr
    done = d.run_ctl("set", "ecn", "h1", "8", "kmin=1KB")
    assert done.returncode != 0 and "0" in done.stderr and "7" in done.stderr
    assert d.run_ctl("shwo").returncode == 2
    d.process.kill()
    d.process.wait(timeout=10)
    done = d.run_ctl("show", "ports")
    assert done.returncode == 3 and str(d.socket) in done.stderr


def test_capabilities_tell_about_kernel_and_ports(star):
    d = star(2).daemon()
    reply = d.ctl("show", "capabilities")
    kernel = {c["name"]: c for c in reply["kernel"]}
    assert all(kernel[name]["available"] for name in ("btf", "tcx", "htb", "tbf"))
    assert [p["port"] for p in reply["ports"]] == ["h1", "h2"]
