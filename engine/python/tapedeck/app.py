"""tf.app: how programs of TensorFlow 1 start."""
import sys

from tapedeck import flags
from tapedeck._core.public import public, same

same("flags", "app.flags")


@public("app.run")
def run(main=None, argv=None):
    """Parses the flags in argv, calls main with what is left of it, and ends the program with what main returns.

    main: a function of a list of texts; None for that of `__main__`. argv: None for sys.argv.
    In a session, which goes on after a cell, it returns where main returned None or 0.
    """
    main = main or sys.modules["__main__"].main
    rest = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    status = main(rest)
    if status or not hasattr(sys.modules["builtins"], "get_ipython"):
        sys.exit(status)
