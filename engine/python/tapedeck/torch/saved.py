"""What a node of autograd's graph saved of the forward pass, by name: `_saved_self`, `_saved_dim`. No hook of the program's is called and
nothing is computed again: of tensors it is only read whether they are there."""
import functools

_SHORT = 200  # letters of a number or a list


def described(node):
    """A line for each: "T self" (a tensor), "N weight" (None), "H self" (the program's hooks packed it), "? self" (up to PyTorch 2.1, which
    does not say which of these), "L indices NT" (a list), "V dim 1" (a number, or a list of numbers)."""
    tensors, others = _names(type(node))
    try:
        states = tuple([_state(getattr(node, name)) for name in tensors])
        return _text(type(node), states, tuple([getattr(node, name) for name in others]))
    except Exception:  # the program must not see what goes wrong here
        return ""


def _state(saved):
    if isinstance(saved, (tuple, list)):
        return "L" + "".join(map(_state, saved))
    try:
        if saved.unpack_hook is not None:
            return "H"
        return "N" if saved.data is None else "T"
    except AttributeError:
        return "?"


@functools.lru_cache(4096)
def _text(kind, states, values):
    tensors, others = _names(kind)
    lines = [f"L {_plain(name)} {state[1:]}" if state[0] == "L" else f"{state} {_plain(name)}" for name, state in zip(tensors, states)]
    lines += [f"V {_plain(name)} {_value(value)}" for name, value in zip(others, values)]
    return "\n".join(lines)


@functools.cache
def _names(kind):
    """(attributes of saved tensors as they are kept, those of all else). Shapes of arguments are left out: their tensors have them, too."""
    names = [name for name in dir(kind) if name.startswith("_saved_")]
    raw = [name for name in dir(kind) if name.startswith("_raw_saved_")]
    of_tensors = {name.removeprefix("_raw") for name in raw}
    return raw, [name for name in names if name not in of_tensors and not name.endswith(("_sym_sizes", "_sym_strides"))]


def _plain(name):
    return name.removeprefix("_raw").removeprefix("_saved_")


def _value(value):
    if isinstance(value, int) and value >= 1 << 63:  # a negative one, as PyTorch shows it
        value -= 1 << 64
    return " ".join(repr(value).split())[:_SHORT]
