"""python3 -m tapedeck [--trace TRACE] [--as-tensorflow] FILE.py [ARGUMENTS]: runs a program on Tapedeck.

Without an option it is what TAPEDECK_DEBUG=1 needs for a program that doesn't import tapedeck itself, one of PyTorch for example.

    --as-tensorflow   a program of TensorFlow: `import tensorflow` gives Tapedeck
    --trace TRACE     records it, and writes the trace file TRACE when it has ended, also by an exception
"""
import os
import sys

if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]  # run by its path: this package's modules are named like some of Python's

from tapedeck.session import working_folder

USAGE = "Which program? python3 -m tapedeck [--trace TRACE] [--as-tensorflow] FILE.py [ARGUMENTS]"


def _run(path, arguments, as_tensorflow):
    if as_tensorflow:
        from tapedeck._session import as_tensorflow as runner  # after sys.path is set
    else:
        from tapedeck._session import program as runner  # after sys.path is set
    runner.run(path, arguments)


def main(arguments):
    """Returns the exit status where nothing ran."""
    arguments = list(arguments)
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    trace, as_tensorflow = None, False
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option == "--as-tensorflow" and not as_tensorflow:
            as_tensorflow = True
        elif option == "--trace" and trace is None and arguments:
            trace = arguments.pop(0)
        else:
            break
    else:
        if arguments:
            if sys.path and sys.path[0] in ("", working_folder()):  # the program's own folder comes first
                del sys.path[0]
            if trace is None:
                _run(arguments[0], arguments[1:], as_tensorflow)
                return 0
            from tapedeck._session import program  # after sys.path is set
            return program.run_traced(trace, arguments[0], lambda: _run(arguments[0], arguments[1:], as_tensorflow))
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
