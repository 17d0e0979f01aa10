# SPDX-License-Identifier: Apache-2.0
"""Writes plain values as TOML (the standard library only reads it)."""

import json


def value_text(value):
    """One value on one line; tables become inline tables."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value)  # a JSON string is a TOML basic string
        case list():
            return "[" + ", ".join(map(value_text, value)) + "]"
        case dict():
            return "{ " + ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items()) + " }"
    raise TypeError(f"no TOML for {value!r}")


def key_text(key):
    plain = key and all(c.isalnum() or c in "-_" for c in key)
    return key if plain else json.dumps(key)


def table_text(header, table):
    """`[header]` (or `[[header]]` when given so) and its keys, one a line."""
    return "\n".join([header, *[f"{key_text(k)} = {value_text(v)}" for k, v in table.items()], ""])
