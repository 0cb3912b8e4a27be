"""Where no tensor decides, a converted function is Python: order of evaluation, truth, exceptions, closures, names and lines."""
import contextlib
import functools
import inspect
import linecache
import sys
import traceback
import unittest

import tapedeck as tf

convert = tf.autograph.to_graph


class Notes(list):
    """note(x) remembers that x was evaluated, and gives it back."""

    def __call__(self, value):
        self.append(value)
        return value


class Truth:
    """An object that is asked for its truth."""

    def __init__(self, notes, value):
        self.notes, self.value = notes, value

    def __bool__(self):
        self.notes.append(("asked", self.value))
        return self.value


def operators(note, a, b):
    truth = Truth(note, a), Truth(note, b)
    if truth[0] and not truth[1] or note(3):
        note("taken")
    kept = truth[0] or truth[1], truth[0] and truth[1]
    note(kept[0] is truth[0]), note(kept[1] is truth[1])
    note(1) < note(a) < note(b) or note(9)
    note("yes") if truth[1] else note("no")
    note(a) in [note(b)] and note("in")
    return note(a) if a else note(b)


def loops(note, count, end):
    for number, letter in enumerate(note("abcdef")[:count]):
        if letter == end:
            note("end")
            break
        if number % 2:
            continue
        note((number, letter))
    else:
        note("else")
    while count > 0:
        count -= 1
        if count == 3:
            continue
        if count == 1:
            break
        note(count)
    else:
        note("while else")
    for key in {"x": 1}:
        note(key)
    return count, number, letter


def returns(note, a, b):
    with contextlib.suppress(ZeroDivisionError):
        if b > 2:
            return a / (b - 3)
        note("in")
    try:
        for each in range(a):
            if each == 2:
                return note("two")
            if each == b:
                raise KeyError(each)
    except KeyError as error:
        note(error.args)
        if b:
            return "caught"
    else:
        note("else")
    finally:
        note("finally")
    return None


def names(note, a, b):
    global shared
    total, seen = 0, []

    def add(value, *, twice=False):
        nonlocal total
        if twice:
            value *= 2
        total += value
        return total

    if a:
        import math as mathematics
        shared = a
        seen.append(mathematics.floor(a + .5))
        first: int = add(a)
        add(b, twice=True)
    squares = [x * x if x else -1 for x in range(a) if x != b]
    if (n := len(squares)) > 1:
        seen.append(n)
    del squares
    class Inside:
        value = n if n else None

        def method(self):
            return n or self.value
    match b:
        case 1 | 2 if a:
            note(first)
        case other:
            note(("other", other))
    return total, seen, n, Inside().method(), Inside.method.__qualname__, (lambda *all, k=3: all and k)(a, b)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


class Base:
    def name(self):
        return "base"


class Derived(Base):
    __secret = 5

    def again(self, count):
        if isinstance(self, Derived) and count:
            return Derived().again(count - 1)
        return self.__secret

    def name(self, loud=False):
        for _ in range(2):
            if loud:
                return super().name().upper(), self.__secret
        return super().name()

    @classmethod
    def made(cls, count):
        return cls.__name__ if count else None

    @staticmethod
    def alone(x):
        return x if x > 1 else -x


def outcome(function, *arguments):
    note = Notes()
    try:
        return function(note, *arguments), note
    except Exception as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == __file__]
        return type(error), str(error), lines[-1], note


class PythonStaysPython(unittest.TestCase):
    def test_every_construct_does_what_it_did(self):
        for function in (operators, loops, returns, names):
            converted = convert(function)
            self.assertIsNot(converted.__code__, function.__code__)
            for a in (0, 1, 2, 3, 5):
                for b in (0, 1, 2, 3, "c"):
                    with self.subTest(function.__name__, a=a, b=b):
                        self.assertEqual(outcome(converted, a, b), outcome(function, a, b))

    def test_methods_have_their_super_and_private_names(self):
        derived = Derived()
        for loud in (False, True):
            self.assertEqual(convert(derived.name)(loud), derived.name(loud))
        self.assertEqual(convert(derived.again)(3), 5)
        self.assertEqual((convert(Derived.made)(1), convert(Derived.alone)(1)), ("Derived", -1))

    def test_it_keeps_name_defaults_documentation_and_closure(self):
        kept, changed = [1], 0

        def outer(x, /, y=2, *rest, key=kept, **more) -> int:
            """What it says."""
            nonlocal changed
            while changed < x:
                changed += 1
            return y, rest, key, more

        converted = convert(outer)
        self.assertEqual(converted(3, key=4, other=5), (2, (), 4, {"other": 5}))
        self.assertEqual(changed, 3)
        self.assertIs(converted(0)[2], kept)
        self.assertEqual(inspect.signature(converted), inspect.signature(outer))
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__", "__annotations__"):
            self.assertEqual(getattr(converted, name), getattr(outer, name), name)
        self.assertIs(converted.__globals__, outer.__globals__)
        self.assertEqual((converted.__code__.co_filename, converted.__code__.co_firstlineno, converted.__code__.co_qualname),
                         (outer.__code__.co_filename, outer.__code__.co_firstlineno, outer.__code__.co_qualname))

    def test_tracebacks_name_the_users_lines_and_functions(self):
        def inner(x):
            if x:
                for each in [x]:
                    return each / 0

        def outer(x):
            while x:
                return [inner(y) for y in [x] if y or x][0]

        def frames(function):
            try:
                function(1)
            except ZeroDivisionError as error:  # assertRaises would forget the traceback
                places = traceback.extract_tb(error.__traceback__)
            return [(each.lineno, each.line, each.name) for each in places if each.filename == __file__][1:]

        wanted, given = frames(outer), frames(convert(outer))
        self.assertEqual(given[-1], wanted[-1])
        self.assertLess(set(wanted), set(given))
        self.assertEqual({each[2] for each in given}, {each[2] for each in wanted})

    def test_a_debugger_sees_the_lines_of_the_function(self):
        def function(x):
            total = 0
            for each in range(x):
                if each == 1:
                    continue
                total += each
            return total

        def lines(called):
            seen = []

            def watch(frame, event, argument):
                if frame.f_code.co_filename == __file__ and event == "line" and frame.f_code.co_name == "function":
                    if not seen or seen[-1] != frame.f_lineno:
                        seen.append(frame.f_lineno)
                return watch

            before = sys.gettrace()
            sys.settrace(watch)
            try:
                called(3)
            finally:
                sys.settrace(before)
            return seen

        self.assertEqual(set(lines(convert(function))), set(lines(function)))

    def test_a_name_without_a_value_is_pythons_error(self):
        def function(x):
            if x:
                found = x
                del found
            for _ in range(1):
                return found

        for called in (function, convert(function)):
            for x in (0, 1):
                with self.assertRaisesRegex(UnboundLocalError, "cannot access local variable 'found'"):
                    called(x)

    def test_loops_stop_their_iterators_where_python_does(self):
        def function(items, until):
            for each in items:
                if each == until:
                    break
            return list(items)

        for until in (0, 2, 9):
            self.assertEqual(convert(function)(iter(range(5)), until), function(iter(range(5)), until))

    def test_functions_that_are_called_are_converted_too(self):
        seen = []

        def inner(x):
            seen.append(sys._getframe().f_code)
            return x if x else 1

        def outer(x):
            return functools.partial(inner, x)() + inner(x) + max(map(inner, [x]))

        self.assertEqual(convert(outer)(0), 3)
        self.assertEqual([each is inner.__code__ for each in seen], [False, False, True])  # map calls its own
        seen.clear()
        self.assertEqual(convert(outer, recursive=False)(2), 6)
        self.assertEqual([each is inner.__code__ for each in seen], [True, True, True])
        seen.clear()
        inner = tf.autograph.experimental.do_not_convert(inner)
        self.assertEqual(convert(outer)(0), 3)
        self.assertEqual(len(seen), 3)
        self.assertNotIn("ag__", {name for each in seen for name in each.co_freevars})

    def test_functions_that_call_themselves(self):
        def factorial(n):
            return n * factorial(n - 1) if n > 1 else 1

        self.assertEqual((convert(factorial)(5), convert(fibonacci)(9)), (120, 34))

    def test_many_returns_one_after_another(self):
        lines = ["def function(x):", *(f"    if x == {number}:\n        return {number} * 2" for number in range(100)), "    return None"]
        text = "\n".join(lines)
        linecache.cache["<returns>"] = len(text), None, text.splitlines(True), "<returns>"
        space = {}
        exec(compile(text, "<returns>", "exec"), space)
        converted = convert(space["function"])
        self.assertEqual([converted(number) for number in (0, 99, 100)], [0, 198, None])

    def test_lambdas_of_one_line_are_told_apart(self):
        functions = [lambda x: x if x else 1, lambda x: x if x else 2, lambda: (lambda x: x if x else 3)]
        self.assertEqual([convert(functions[0])(0), convert(functions[1])(0), convert(functions[2]())(0), convert(functions[2])()(0)],
                         [1, 2, 3, 3])

    def test_what_cannot_be_converted_says_why_and_runs_as_it_is(self):
        def generator(x):
            if x:
                yield x

        async def coroutine():
            pass

        def frame(x):
            if x:
                return locals()

        def left(x):
            for _ in x:
                try:
                    pass
                finally:
                    break  # noqa: B012

        space = {}
        exec("def nowhere(x):\n    return x if x else 5", space)
        for function, reason in ((generator, "it is a generator"), (coroutine, "it is a coroutine"), (frame, "locals"),
                                 (left, "finally"), (space["nowhere"], "the source of <string> is not there")):
            with self.assertRaisesRegex(ValueError, f"^to_graph: .*{function.__name__} cannot be converted: .*{reason}"):
                convert(function)

        def caller(x):
            return list(generator(x)), frame(x)

        self.assertEqual(convert(caller)(2), ([2], {"x": 2}))
        with self.assertRaisesRegex(TypeError, "to_graph: entity is 3; needs a function"):
            convert(3)

    def test_the_other_names_of_tf_autograph(self):
        code = tf.autograph.to_code(operators)
        self.assertTrue(code.startswith("def operators(note, a, b):\n"))
        self.assertIn("ag__.if_stmt(", code)
        self.assertEqual(tf.autograph.experimental.set_loop_options(maximum_iterations=3), None)
        self.assertEqual(tf.autograph.experimental.do_not_convert()(operators).__wrapped__, operators)


if __name__ == "__main__":
    unittest.main()
