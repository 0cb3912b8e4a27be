"""tf.flags, also tf.app.flags: a program's own command line, by absl-py, as in TensorFlow.

FLAGS reads sys.argv when a flag is first asked for, so a program needs no tf.app.run().
"""
import sys

from absl import flags as _absl

from tapedeck._core.public import public


class _Flags:
    """absl's FLAGS, parsed at first use."""

    def __getattr__(self, name):
        return getattr(_parsed(name), name)

    def __setattr__(self, name, value):
        setattr(_parsed(name), name, value)

    def __delattr__(self, name):
        delattr(_absl.FLAGS, name)

    def __call__(self, *args, **kwargs):
        return _absl.FLAGS(*args, **kwargs)

    def __getitem__(self, name):
        return _absl.FLAGS[name]

    def __contains__(self, name):
        return name in _absl.FLAGS

    def __iter__(self):
        return iter(_absl.FLAGS)

    def __dir__(self):
        return dir(_absl.FLAGS)


def _parsed(name):
    flags = _absl.FLAGS
    if not flags.is_parsed() and not name.startswith("_") and name not in ("is_parsed", "mark_as_parsed"):
        flags(sys.argv, known_only=True)
    return flags


FLAGS = public("flags.FLAGS")(_Flags())


def _with_old_names(define):
    """absl's DEFINE_… that takes TensorFlow 1's names of the arguments, too."""

    def defining(*args, **kwargs):
        for old, new in (("flag_name", "name"), ("default_value", "default"), ("docstring", "help")):
            if old in kwargs:
                kwargs[new] = kwargs.pop(old)
        return define(*args, **kwargs)

    defining.__name__, defining.__doc__ = define.__name__, define.__doc__
    return defining


_OWN = {name: _with_old_names(getattr(_absl, name)) for name in ("DEFINE_string", "DEFINE_integer", "DEFINE_float", "DEFINE_boolean")}
_OWN["DEFINE_bool"] = _OWN["DEFINE_boolean"]
for _name in dir(_absl):
    if not _name.startswith("_") and _name != "FLAGS" and callable(getattr(_absl, _name)):
        public(f"flags.{_name}")(_OWN.get(_name, getattr(_absl, _name)))
