"""Random functions do converted what they do in Python: results, what they print on the way, exceptions. On tensors that count as
symbolic they do it as branches and loops of a graph."""
import linecache
import unittest

import tapedeck as tf
from campaign import Campaign
from graph_backend import plugged_in

NAMES = ("a", "b", "c", "d")


class Program:
    """The source of a random function f(a, b). tensors: whether a graph can have it: no names without values, and no effects."""

    def __init__(self, chance, tensors):
        self.chance, self.tensors, self.lines, self.counters = chance, tensors, [], 0
        self.add(0, "def f(a, b, note):")
        if tensors:
            self.add(1, "c = a + 1")
            self.add(1, "d = b * 2")
        else:
            self.add(1, "c = 0" if chance.random() < .7 else "pass")
        self.block(1, 0, False, chance.randrange(2, 6))
        self.add(1, "return a + b * 3 + c" if tensors else f"return {self.value()}")

    def add(self, depth, text):
        self.lines.append("    " * depth + text)

    def value(self, depth=0):
        kind = self.chance.randrange(9 if depth < 2 else 3)
        if kind < 2:
            return self.chance.choice(NAMES)
        if kind == 2:
            return str(self.chance.randrange(-2, 6))
        one, other = self.value(depth + 1), self.value(depth + 1)
        if kind < 6 or self.tensors and kind > 6:
            return f"({one} {self.chance.choice(['+', '-', '*'] if kind < 6 else ['+'])} {other})"
        if kind == 6:
            return f"({one} if {self.test(depth + 1)} else {other})"
        return f"note({one})" if kind == 7 else f"({one} {self.chance.choice(['and', 'or'])} {other})"

    def test(self, depth=0):
        kind = self.chance.randrange(7)
        one, other = self.value(2), self.value(2)
        if kind < 3 or depth > 1:
            return f"{one} {self.chance.choice(['<', '>', '==', '<='])} {other}"
        if kind == 3:
            return f"{one} < {other} <= {self.value(2)}"
        if kind == 4:
            return f"not ({self.test(depth + 1)})"
        return f"({self.test(depth + 1)} {self.chance.choice(['and', 'or'])} {self.test(depth + 1)})"

    def block(self, depth, level, in_loop, count):
        for _ in range(count):
            self.statement(depth, level, in_loop)

    def statement(self, depth, level, in_loop):
        kind = self.chance.randrange(12 if level < 4 else 4)
        if kind < 3:
            self.add(depth, f"{self.chance.choice(NAMES)} {self.chance.choice(['=', '+=', '=', '-='])} {self.value()}")
        elif kind == 3:
            exits = ["break", "continue"] * in_loop + ["return " + self.value()]
            exits += ["note(a)", "del d", "raise KeyError(a)"] * (not self.tensors)
            self.add(depth, self.chance.choice(exits) if level else f"b = {self.value()}")
        elif kind < 8:
            self.add(depth, f"if {self.test()}:")
            self.block(depth + 1, level + 1, in_loop, self.chance.randrange(1, 3))
            if self.chance.random() < .3:
                self.add(depth, f"elif {self.test()}:")
                self.block(depth + 1, level + 1, in_loop, 1)
            if self.chance.random() < .5:
                self.add(depth, "else:")
                self.block(depth + 1, level + 1, in_loop, self.chance.randrange(1, 3))
        elif kind < 11:
            self.loop(depth, level)
        elif self.tensors:
            self.add(depth, f"d = {self.value()}")
        else:
            self.attempt(depth, level, in_loop)

    def loop(self, depth, level):
        self.counters += 1
        if self.chance.random() < .2:
            self.add(depth, f"n{self.counters} = 0")
            self.add(depth, "while True:")
            self.add(depth + 1, f"n{self.counters} += 1")
            self.add(depth + 1, f"if n{self.counters} > 2 or {self.test(1)}:")
            self.add(depth + 2, "break" if level % 2 else "return a * 2")
            self.block(depth + 1, level + 1, True, 2)
            return
        if self.chance.random() < .5:
            items = ["tf.range(3)", "range(b % 4)"] if self.tensors else ["[1, a, 2]", "zip([1, 2], (a, b))"]
            items = self.chance.choice(["range(3)", *items])
            target = "i, j" if "zip" in items else "i"
            self.add(depth, f"for {target} in {items}:")
            self.add(depth + 1, "c = c + i")
        else:
            counter = f"n{self.counters}"
            self.add(depth, f"{counter} = {'a * 0' if self.tensors and self.chance.random() < .5 else '0'}")
            self.add(depth, f"while {counter} < 3 and {self.test(1)}:")
            self.add(depth + 1, f"{counter} += 1")
        self.block(depth + 1, level + 1, True, self.chance.randrange(1, 4))
        if self.chance.random() < .3:
            self.add(depth, "else:")
            self.block(depth + 1, level + 1, False, 1)

    def attempt(self, depth, level, in_loop):
        self.add(depth, "try:")
        self.block(depth + 1, level + 1, in_loop, 2)
        if self.chance.random() < .6:
            self.add(depth, f"except {self.chance.choice(['KeyError', 'NameError', 'Exception', '(TypeError, KeyError)'])} as error:")
            self.add(depth + 1, "note(isinstance(error, NameError) or type(error).__name__)")
            self.block(depth + 1, level + 1, in_loop, 1)
            if self.chance.random() < .5:
                self.add(depth, "else:")
                self.block(depth + 1, level + 1, in_loop, 1)
        else:
            self.add(depth, "finally:")
            self.add(depth + 1, "note(-1)")

    def function(self, name):
        text = "\n".join(self.lines) + "\n"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        space = {"tf": tf}
        exec(compile(text, name, "exec"), space)
        return space["f"]


def outcome(function, *arguments):
    """What a call gives or raises, with the line where it does, and what it notes on the way."""
    noted = []

    def note(value):
        noted.append(value)
        return 1

    try:
        return "gives", function(*arguments, note), noted
    except (ArithmeticError, LookupError, NameError, TypeError) as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        # Of a name without a value Python 3.11 may say the line before: it runs two instructions as one.
        line = None if isinstance(error, NameError) else trace.tb_lineno
        return type(error), str(error), line, trace.tb_frame.f_code.co_qualname, noted


class RandomPrograms(unittest.TestCase):
    def test_a_converted_function_does_what_it_does_in_python(self):
        programs = Campaign("autograph_programs", "random functions in Python", 150, 5_000, "further random functions")
        kinds = set()
        for number in range(programs.count):
            program = Program(programs.random(number), False)
            function = program.function(f"<random {number}>")
            converted = tf.autograph.to_graph(function)
            for arguments in ((0, 1), (3, 2), (-1, 5)):
                wanted = outcome(function, *arguments)
                kinds.add(wanted[0])
                self.assertEqual(outcome(converted, *arguments), wanted, "\n".join(program.lines))
            linecache.cache.pop(f"<random {number}>")
        self.assertLess({"gives", KeyError, UnboundLocalError}, kinds)

    def test_of_symbolic_tensors_it_gives_what_eager_code_gives(self):
        programs = Campaign("autograph_graphs", "random functions of symbolic tensors", 60, 3_000, "further random functions")
        calls = []
        for number in range(programs.count):
            program = Program(programs.random(number), True)
            function = program.function(f"<graph {number}>")
            converted = tf.autograph.to_graph(function)
            for arguments in ((0, 1), (3, 2)):
                arguments = list(map(tf.constant, arguments))
                wanted = function(*arguments, None)
                with plugged_in() as graph:
                    given = converted(*arguments, None)
                self.assertEqual(int(given), int(wanted), "\n".join(program.lines))
                calls += graph.calls
            linecache.cache.pop(f"<graph {number}>")
        self.assertGreater(calls.count("branch"), programs.count)
        self.assertGreater(calls.count("loop"), programs.count // 4)


if __name__ == "__main__":
    unittest.main()
