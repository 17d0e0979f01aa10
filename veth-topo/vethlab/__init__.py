# SPDX-License-Identifier: Apache-2.0
"""Labs on network namespaces: topologies as data, the builder, the runner and the outcome reports."""
