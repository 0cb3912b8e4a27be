"""Random programs with control flow: a graph gives what eager code gives, bit for bit: results, variables, what is printed, errors with
their lines, and gradients of first and second order, of tapes inside and outside of the function."""
import contextlib
import io
import linecache
import re
import traceback
import unittest

import numpy as np

import tapedeck as tf
from campaign import Campaign
from graph_mode import fusing, graphs
from random_functions import RandomFunctions
from shrunk import shrunk

FILE = "<random functions>"
ELEMENTS = 2048  # more than the programs' tensors have


class Box:
    """An object whose attribute a program changes."""

    def __init__(self, value):
        self.value = value


@contextlib.contextmanager
def context():
    yield


@tf.custom_gradient
def own(value):
    return tf.sin(value) * 2., lambda upstream: upstream * tf.cos(value) * 3.


class Program:
    """A program's functions, and the variables that they use."""

    def __init__(self, source):
        linecache.cache[FILE] = len(source), None, source.splitlines(True), FILE
        self.variables = [tf.Variable([.5, -.5, .25], name="W"), tf.Variable(.75, name="S"), tf.Variable(2, name="N")]
        space = dict(zip("WSN", self.variables), tf=tf, Box=Box, own=own, context=context)
        exec(compile(source, FILE, "exec"), space)
        self.function = space["f"]

    def reset(self):
        """Gives variables and the random sequence their begin."""
        for variable, value in zip(self.variables, ([.5, -.5, .25], .75, 2)):
            variable.assign(value)
        tf.random.set_seed(7)


def arguments(number):
    """One of some calls."""
    scalar = tf.constant([.2, -1.1, .9][number])
    return (scalar, tf.constant([[.3, -.7, 1.2], [0., 1., -2.], [.9, .9, -.1]][number]),
            tf.constant(np.linspace(-1, 1 + number, 6, dtype=np.float32).reshape(2, 3)), tf.constant([1, 3, -2][number]))


def first_order(program, function):
    """A function that plays a tape of `function`."""
    def gradients(x, u, m, i):
        with tf.GradientTape() as tape:
            for each in (x, u, m):
                tape.watch(each)
            results = function(x, u, m, i)
            total = tf.reduce_sum(results[0]) + tf.reduce_sum(results[1] * [1., 2., 3.]) + tf.cast(results[3], tf.float32)
        found = tape.gradient(total, [x, u, m, *program.variables[:2]], unconnected_gradients="zero")
        return [tf.convert_to_tensor(each) for each in found]  # rows, where all of a variable that is read are gathered
    return gradients


def second_order(program, gradients):
    """A function that plays a tape of the gradients."""
    def gradients_of_gradients(x, u, m, i):
        with tf.GradientTape() as tape:
            for each in (x, u, m):
                tape.watch(each)
            found = gradients(x, u, m, i)
            total = tf.add_n([tf.reduce_sum(each * each) for each in found])
        return tape.gradient(total, [x, u, m, *program.variables[:2]], unconnected_gradients="zero")
    return gradients_of_gradients


def capturing(function):
    """A function that is called by a graph which captures its arguments: constants from before the trace, that a tape may watch."""
    return lambda *given: tf.function(lambda: function(*given))()


def calls_of(program):
    """By name, what is compared: (of eager code, with graphs)."""
    f, graph = program.function, tf.function(program.function)
    first = first_order(program, f)
    second = second_order(program, first)
    calls = {"results": (f, graph), "a tape outside": (first, first_order(program, graph)),
             "a tape outside, of what is captured": (first, first_order(program, capturing(program.function))),
             "a tape inside": (first, tf.function(first)),
             "two tapes outside": (second, second_order(program, first_order(program, graph))),
             "two tapes inside": (second, tf.function(second)),
             "a tape inside and one outside": (second, second_order(program, tf.function(first))),
             "a tape inside, of a function of a function": (first, tf.function(first_order(program, graph)))}
    return calls


def bits(value):
    """dtype, shape and bits; of a gradient that is zero no sign."""
    array = np.asarray(value)
    return array.dtype.name, array.shape, array.tobytes()


def line_of(error):
    """The line of the program's in which an error was raised: in a graph the notes say it."""
    for note in reversed(getattr(error, "__notes__", ())):
        if f"{FILE}, line " in note:
            return int(note.rpartition("line ")[2])
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    return lines[-1] if lines else None


def outcome(program, function, number):
    """What a call gives or raises, and what it leaves."""
    program.reset()
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        try:
            results = tf.nest.flatten(function(*arguments(number)))
            found = tuple(bits(tf.convert_to_tensor(each)) for each in results if each is not None)
        except (tf.errors.OpError, AssertionError, ValueError, TypeError, ArithmeticError, LookupError, RuntimeError, NameError) as error:
            kind = "check" if isinstance(error, (AssertionError, tf.errors.InvalidArgumentError)) else type(error).__name__
            found = kind, line_of(error), str(error)
    return found, tuple(bits(each) for each in program.variables), printed.getvalue()


def same(one, other, is_gradient):
    """Whether two outcomes agree. In gradients +0 and -0 are alike, as where nothing is connected."""
    if one[1:] != other[1:]:
        return False
    errors = [bool(each[0]) and isinstance(each[0][0], str) for each in (one, other)]
    if any(errors):
        return all(errors) and one[0][:2] == other[0][:2]
    if not is_gradient or [each[:2] for each in one[0]] != [each[:2] for each in other[0]]:
        return one[0] == other[0]
    return all(_alike(np.frombuffer(a[2], a[0]), np.frombuffer(b[2], b[0])) for a, b in zip(one[0], other[0]))


def _alike(one, other):
    return all(p.tobytes() == q.tobytes() or p == q == 0 for p, q in zip(one, other))


def disagreement(source, only=None, calls=(0, 1, 2)):
    """None where the program's graphs give what eager code gives; else (the call's name, its number, what each gives)."""
    with graphs():
        program = Program(source)
        for name, (eager, graph) in calls_of(program).items():
            if only not in (None, name):
                continue
            for number in calls:
                tf.config.run_functions_eagerly(True)
                wanted = outcome(program, eager, number)
                tf.config.run_functions_eagerly(False)
                given = outcome(program, graph, number)
                if not same(wanted, given, name != "results"):
                    return name, number, wanted, given
    return None


class RandomPrograms(unittest.TestCase):
    def test_graphs_give_what_eager_code_gives(self):
        programs = Campaign("function_programs", "random programs with control flow", 25, 2_000, "further random programs")
        for number in range(programs.count):
            source = RandomFunctions(programs.random(number)).source
            with fusing(2 if number % 3 else ELEMENTS):  # chains of any size; of none of the programs' sizes
                found = disagreement(source)
                if found:
                    self.fail(self.report(number, source, found))

    @staticmethod
    def report(number, source, found):
        """The failure of a smaller program that fails likewise."""
        name, call, *given = found

        def fails(text):
            try:
                other = disagreement(text, name, [call])
            except Exception:  # a variant that is no program any more
                return False
            return other is not None and list(map(_kind, other[2:])) == list(map(_kind, given))

        smaller = shrunk(source, fails)
        name, call, wanted, given = disagreement(smaller, name, [call])
        return f"program {number}, {name}, call {call}:\n{smaller}\neager code: {wanted}\nthe graph:  {given}"


def _kind(outcome):
    """What errors of one cause share; None of results."""
    first = outcome[0]
    return (first[0], re.sub(r"[^a-z ]|'\w+'", "", first[2])[:40]) if first and isinstance(first[0], str) else None


if __name__ == "__main__":
    unittest.main()
