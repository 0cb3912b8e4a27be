"""What the operations of a graph are called where the program does not say it, and their types: TensorFlow's."""
import re

# Types of TensorFlow's operations, by the op; others are the op's name in camel case.
_TYPES = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "RealDiv", "floor_divide": "FloorDiv", "power": "Pow", "pow": "Pow",
    "negative": "Neg", "matmul": "MatMul", "reduce_sum": "Sum", "reduce_mean": "Mean", "reduce_max": "Max", "reduce_min": "Min",
    "reduce_prod": "Prod", "reduce_all": "All", "reduce_any": "Any", "argmax": "ArgMax", "argmin": "ArgMin", "concat": "ConcatV2",
    "conv2d": "Conv2D", "max_pool2d": "MaxPool", "avg_pool2d": "AvgPool", "bias_add": "BiasAdd", "stack": "Pack", "unstack": "Unpack",
    "random_normal": "RandomStandardNormal", "random_uniform": "RandomUniform", "truncated_normal": "TruncatedNormal", "where": "Select",
    "leaky_relu": "LeakyRelu", "logical_not": "LogicalNot", "expand_dims": "ExpandDims", "gather": "GatherV2", "split": "Split",
    "eye": "MatrixDiag", "inverse": "MatrixInverse", "diag": "Diag",
}
# What Python's operators call their operations.
_OPERATORS = {"Add": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "truediv", "FloorDiv": "floordiv", "Pow": "pow", "MatMul": "matmul"}
_KINDS = {"parameter": "Placeholder", "constant": "Const", "read": "Identity", "assign": "Assign", "branch": "If", "loop": "While",
          "custom": "IdentityN", "gradient": "SymbolicGradient", "absent": "NoGradient", "unwind": "While"}


def type_of(kind, op, name):
    """The type of an operation. kind, op, name: of its node."""
    if op is not None:
        return _TYPES.get(op) or "".join(part[:1].upper() + part[1:] for part in op.split("_"))
    if kind == "host":
        return "PyFunc" if not re.fullmatch(r"\w+", name) else name
    return _KINDS.get(kind, kind)


def default_name(kind, op, name, by_operator):
    """What it is called where the program gives no name. by_operator: whether no function of that name was called."""
    if kind == "read":
        return name.rpartition(":")[0] + "/read"
    if kind == "host":
        return re.sub(r"[^\w.\\/>-]+", "_", name).strip("_") or "PyFunc"
    kind_name = type_of(kind, op, name)
    return _OPERATORS.get(kind_name, kind_name) if by_operator else kind_name


_VALID = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


def require_valid(name):
    """ValueError for a text that no operation is called."""
    if not isinstance(name, str) or not _VALID.fullmatch(name):
        raise ValueError(f"'{name}' is not a valid node name")


class NameTable:
    """The names that are taken in a graph."""

    def __init__(self):
        self._taken = {}  # lower-case name → how often it was asked for

    def unique(self, name, mark=True):
        """The name, or the first of name_1, name_2, … that is not taken. Names count as equal whatever their case."""
        key = name.lower()
        count = self._taken.get(key, 0)
        if mark:
            self._taken[key] = count + 1
        if not count:
            return name
        base = name
        while key in self._taken:
            name = f"{base}_{count}"
            key = name.lower()
            count += 1
        if mark:
            self._taken[base.lower()] = count
            self._taken[key] = 1
        return name
