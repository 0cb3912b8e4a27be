"""Modules of Python's library, each a copy all of whose functions are converted, do what the modules do."""
import importlib.util
import types
import unittest

import tapedeck as tf


def converted(name):
    """A copy of the module with its functions and methods converted, and how many they are."""
    spec = importlib.util.find_spec(name)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy, convert_all(copy, name)


def convert_all(space, name):
    count = 0
    for key, value in list(vars(space).items()):
        if isinstance(value, types.FunctionType) and value.__module__ == name and "ag__" not in value.__code__.co_freevars:
            try:
                setattr(space, key, tf.autograph.to_graph(value))
                count += 1
            except ValueError:  # generators, and named tuples' methods without a source
                pass
        elif isinstance(value, type) and value.__module__ == name:
            count += convert_all(value, name)
    return count


def parsed(argparse):
    parser = argparse.ArgumentParser(prog="program", description="What it does. " * 9, exit_on_error=False)
    parser.add_argument("files", nargs="*", help="the files")
    parser.add_argument("-n", "--number", type=int, default=3, choices=[1, 2, 3])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-v", "--verbose", action="count")
    group.add_argument("-q", action="store_true")
    results = [parser.format_help()]
    for arguments in (["a", "-vv", "b"], ["--number=2", "--", "-x"], ["-n", "7"], ["-n"], ["-q", "--num", "1"]):
        try:
            known, rest = parser.parse_known_args(arguments)
            results.append((sorted(vars(known).items()), rest))
        except argparse.ArgumentError as error:
            results.append(str(error))
    return results


def compared(difflib):
    one, other = "the quick brown fox\njumps over\n".splitlines(True), "a quick brawn fox\njumps\nover\n".splitlines(True)
    matcher = difflib.SequenceMatcher(None, one[0], other[0])
    return (matcher.get_opcodes(), matcher.ratio(), list(difflib.ndiff(one, other)), list(difflib.unified_diff(one, other)),
            difflib.get_close_matches("appel", ["ape", "apple", "peach"]))


def wrapped(textwrap):
    text = "    Some text that is long, hyphen-ated; and   spaced.\n\n    Another paragraph\n"
    return [textwrap.wrap(text, width) for width in (5, 12, 30)] + [textwrap.dedent(text), textwrap.shorten(text, 20)]


def computed(fractions):
    number = fractions.Fraction
    values = [number("3.25e-2"), number(-7, 21), number(1.5).limit_denominator(3), number(5, 3) ** -2]
    return [str(each) for each in values] + [str(values[0] + values[1]), values[0] < values[1], hash(values[2]), f"{values[3]}"]


def split(shlex):
    texts = "a 'b c' \"d\\\"e\" # f", "x=1;y", ""
    return [shlex.split(text, comments) for text in texts for comments in (False, True)], shlex.quote("a'b")


class Library(unittest.TestCase):
    def test_converted_modules_do_what_they_did(self):
        for name, use, least in (("argparse", parsed, 90), ("difflib", compared, 20), ("textwrap", wrapped, 10),
                                 ("fractions", computed, 20), ("shlex", split, 5)):
            with self.subTest(name):
                module, count = converted(name)
                self.assertGreater(count, least)
                self.assertEqual(use(module), use(importlib.import_module(name)))


if __name__ == "__main__":
    unittest.main()
