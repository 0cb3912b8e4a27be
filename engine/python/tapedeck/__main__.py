"""python3 -m tapedeck --as-tensorflow FILE.py [ARGUMENTS]: runs a program of TensorFlow on Tapedeck."""
import sys

USAGE = "Which program? python3 -m tapedeck --as-tensorflow FILE.py [ARGUMENTS]"


def main(arguments):
    """Returns the exit status where nothing ran."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(arguments) < 2 or arguments[0] != "--as-tensorflow":
        print(USAGE, file=sys.stderr)
        return 2
    from tapedeck import as_tensorflow
    if sys.path and sys.path[0] == "":  # the folder where it was started; the program's own comes first
        del sys.path[0]
    as_tensorflow.run(arguments[1], arguments[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
