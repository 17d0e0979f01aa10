# SPDX-License-Identifier: Apache-2.0
"""Computed values in topology files: a string that starts with "=" is arithmetic over the parameters.

    count = "= senders"
    limit = "= senders * at_rate(10)"
    mtu = "= 1024 if rate <= 200 else 4096"

Known: numbers, the lab's parameters, + - * / // %, comparisons, `X if C else Y`, min, max, round, and
at_rate(ms[, mbit]): the bytes a link carries in that many milliseconds (at `rate` when no rate is given).
"""

import ast
import operator

_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}
_COMPARE = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}


class ExpressionError(ValueError):
    """The text is no expression of the kind above."""


def _functions(parameters):
    def at_rate(ms, mbit=None):
        rate = parameters["rate"] if mbit is None else mbit
        return round(ms * rate * 1000 / 8)

    return {"at_rate": at_rate, "min": min, "max": max, "round": round}


def _walk(node, names, functions):
    def go(child):
        return _walk(child, names, functions)

    match node:
        case ast.Expression():
            return go(node.body)
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.Name() if node.id in names:
            return names[node.id]
        case ast.Name():
            raise ExpressionError(f"unknown name '{node.id}'; known are {', '.join(sorted(names))}")
        case ast.UnaryOp(op=ast.USub()):
            return -go(node.operand)
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](go(node.left), go(node.right))
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](go(node.left), go(right))
        case ast.IfExp():
            return go(node.body) if go(node.test) else go(node.orelse)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in functions:
            return functions[name](*[go(a) for a in node.args])
    raise ExpressionError(f"'{ast.unparse(node)}' is not allowed here")


def evaluate(text, parameters):
    """The value of `text` (without the "="). Whole floats become int."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = _walk(tree, parameters, _functions(parameters))
    except ExpressionError:
        raise
    except (SyntaxError, TypeError, ZeroDivisionError, KeyError) as e:
        raise ExpressionError(f"'{text.strip()}': {e}") from e
    return int(value) if isinstance(value, float) and value.is_integer() else value


def resolve(value, parameters, where=""):
    """A copy of a TOML value with every "= …" string computed. Errors name the key."""
    if isinstance(value, dict):
        return {k: resolve(v, parameters, f"{where}.{k}" if where else k) for k, v in value.items()}
    if isinstance(value, list):
        return [resolve(v, parameters, f"{where}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, str) and value.startswith("="):
        try:
            return evaluate(value[1:], parameters)
        except ExpressionError as e:
            raise ExpressionError(f"{where}: {e}") from e
    return value
