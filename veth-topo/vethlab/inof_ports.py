# SPDX-License-Identifier: Apache-2.0
"""A switch with many ports whose other ends are in one namespace, where many hosts are played."""

from . import namespaces


def build_ports(run, ports):
    sw, hosts = (namespaces.ns_name(run.run_id, n) for n in ("sw", "h"))
    run.add_namespaces([sw, hosts])
    namespaces.create([sw, hosts])
    # Otherwise both ends of a pair have the same number, and the kernel takes that for a device without a lower one,
    # whose lost carrier it reports up to a second later.
    namespaces.ip_batch(["link add name unused type bridge"], netns=sw)
    namespaces.ip_batch([f"link add name p{i} netns {sw} type veth peer name e{i} netns {hosts}" for i in range(ports)])
    for netns, kind in ((sw, "p"), (hosts, "e")):
        namespaces.ip_batch([f"link set dev {kind}{i} up" for i in range(ports)], netns=netns)
    return sw, hosts
