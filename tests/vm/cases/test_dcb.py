# SPDX-License-Identifier: Apache-2.0
"""DCB netlink with a driver that has it: the client alone, then losslessd on top of it."""

import subprocess

import pytest

import dcbsim

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(scope="module", autouse=True)
def driver():
    dcbsim.load()
    yield
    dcbsim.unload()


def test_client_against_driver_and_iproute2(tools):
    """Each attribute reads back the same with `dcb -j`, and what dcb sets is read by us."""
    for kind in ("full", "cee", "pfc", "firmware", "plain"):
        dcbsim.run("ip", "link", "add", "name", kind, "type", "veth", "peer", "name", f"{kind}-peer")
        if kind != "plain":
            dcbsim.Port(None, kind, kind)
    done = subprocess.run([tools.build / "tests" / "vm" / "dcb_driver_test", "--gtest_brief=1"], check=False)
    for kind in ("full", "cee", "pfc", "firmware", "plain"):
        dcbsim.run("ip", "link", "delete", kind)
    assert done.returncode == 0
