"""What depends on a symbolic tensor becomes a branch or a loop. The backend is one of the tests, for which every tensor is symbolic."""
import contextlib
import io
import unittest

import numpy as np

import tapedeck as tf
from collatz import collatz
from graph_backend import plugged_in


def converted(function, *arguments):
    """(what the converted function gives of tensors, what the backend was asked)."""
    with plugged_in() as graph:
        return tf.autograph.to_graph(function)(*map(tf.constant, arguments)), graph.calls


class ControlFlow(unittest.TestCase):
    def check(self, function, *cases, calls=()):
        """As in eager code for each of the arguments; `calls` are among those to the backend."""
        for arguments in cases:
            arguments = arguments if isinstance(arguments, tuple) else (arguments,)
            wanted = function(*map(tf.constant, arguments))
            given, asked = converted(function, *arguments)
            self.assertEqual(tf.nest.map_structure(lambda each: getattr(each, "numpy", lambda: each)(), [given]).__repr__(),
                             tf.nest.map_structure(lambda each: getattr(each, "numpy", lambda: each)(), [wanted]).__repr__(), arguments)
            self.assertLessEqual(set(calls), set(asked), asked)

    def refused(self, function, error, text, *arguments):
        with self.assertRaisesRegex(error, text):
            converted(function, *arguments)

    def first_line(self, function):
        return function.__code__.co_firstlineno

    def test_loops_and_branches(self):
        def iterations(x):
            total = tf.constant(0)
            for i in tf.range(10):
                if i == 3:
                    continue
                if i > x:
                    break
                total += i
            else:
                total += 1000
            for i in range(x):
                total += i
            for i in range(x, -x, -2):
                total += i * i
            for a, (i, b) in zip(tf.range(3), enumerate(tf.range(3) * 10)):
                total += a * b + i
            return total

        def truth(x):
            small = 0 < x < 5 and not x == 3 or x == 7
            return small, x if small else -x, all(tf.stack([x, 1]) > 1), max(x, 3), float(x)

        self.check(collatz, 1, 7, calls=("loop",))
        self.check(iterations, 0, 3, 11, calls=("branch", "loop"))
        self.check(truth, 1, 3, 6, 7, calls=("branch",))

    def test_max_and_min_are_the_first_of_equal_values_as_pythons(self):
        def extremes(a, b):
            return max(a, b), min(a, b), max(b, 1.), min(b, a, 0.), max(tf.stack([a, b, a])), min(tf.stack([b, a]))

        traced, nan = tf.function(extremes), float("nan")
        for values in ((1., 1.), (nan, 1.), (1., nan), (0., -0.), (-0., 0.), (nan, nan), (2., -3.), (float("-inf"), nan)):
            a, b = map(tf.constant, values)
            with self.subTest(values=values):
                self.assertEqual([np.float32(each).tobytes() for each in extremes(a, b)], [each.numpy().tobytes() for each in traced(a, b)])
        a, b = tf.constant(2.), tf.constant(2.)
        gradients = []
        for function in (extremes, traced):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch([a, b])
                results = function(a, b)
            gradients.append([tape.gradient(results[place], [a, b], unconnected_gradients="zero") for place in (0, 1, 4, 5)])
        self.assertEqual(*([[float(each) for each in pair] for pair in found] for found in gradients))

    def test_early_exits(self):
        def early(x):
            if x > 3:
                return x * 2
            elif x > 1:
                if x > 2:
                    return x
            for i in range(x):
                if i == 1:
                    return i * 100
            return x - 1

        def endless(x):
            n = 0
            while True:
                n += 1
                if x * n > 10:
                    return tf.convert_to_tensor(n)

        def left(x):
            n = tf.constant(0)
            for i in range(5):
                if x > i:
                    break
                n += 1
            return n

        def second(x):
            if x < 0:
                x = -x
            else:
                if x > 4:
                    return x
            return x + 1

        self.check(early, 1, 2, 3, 4)
        self.check(endless, 2, 20, calls=("loop",))
        self.check(left, 0, -1, 2)
        self.check(second, -3, 3, 5)

    def test_a_value_that_only_a_loop_or_one_side_gives(self):
        def late(x):
            while x > 0:
                x -= 1
                y = x + 5
            for row in tf.ones([2, 3]):
                last = row * 2
            return y, last

        def behind_a_return(x):
            try:
                if x > 1:
                    return x
                y = x * 3
            finally:
                x = None
            if y > 0:
                if y > 2:
                    return -y
                z = y
            else:
                z = y + 1
            return z

        self.check(late, 1, 3, calls=("loop", "discarded"))
        line = self.first_line(late)
        self.refused(late, ValueError, f"line {line + 1}: the loop must iterate at least once to initialize 'y'", 0)
        self.check(behind_a_return, 2, 1, 0, -4)

    def test_closures_that_write_names_of_the_function_around(self):
        def counted(x):
            count = tf.constant(0)

            def bump(by):
                nonlocal count
                if x > 1:
                    count += by

            for _ in range(3):
                bump(1)
            for i in tf.range(x):
                count += i
            return count

        self.check(counted, 1, 2, 5, calls=("branch", "loop"))

    def test_attributes_and_elements_are_carried(self):
        class Cell:
            pass

        def attributes(x):
            cell, table = Cell(), {"a": x}
            cell.value = x
            if x > 2:
                cell.value = cell.value * 10
                table["a"] = tf.constant(0)
            while cell.value > 5:
                cell.value -= 7
            return cell.value, table["a"]

        self.check(attributes, 1, 3, 8, calls=("branch", "loop"))

    def test_what_nobody_reads_later_may_differ(self):
        def passing(x):
            part = tf.ones([5])
            total = tf.constant(0.)
            for row in tf.ones([4, 3]):
                part = row * 2
                inner = tf.reduce_sum(part)
                total += inner
            if x > 1:
                part = "text"
            else:
                part = None
            return total

        self.check(passing, 1, 2, calls=("loop", "branch"))

    def test_lists_grow_in_loops_over_tensors(self):
        def doubled(x):
            items = []
            for each in tf.range(4):
                if each == 2:
                    items.append(each)
                else:
                    items.append(each * x)
            return tf.stack(items)

        self.check(doubled, 3)

        def endless(x):
            items = []
            while x > 0:
                items.append(x)
                x -= 1
            return tf.stack(items), items[0], items[-1], len(items)

        def chosen(x):
            items = [x]
            while x < 50:
                x = x * 2
                if x > 10:
                    items.append(x)
            total = tf.constant(0)
            for each in items:
                total = total * 2 + each
            return tf.stack(items), total

        def mixed(x):
            items = []
            while x > 0:
                items.append(x)
                items = [items]
                x -= 1
            return items

        self.assertEqual([each.numpy().tolist() for each in converted(endless, 3)[0]], [[3, 2, 1], 3, 1, 3])
        self.check(chosen, 3, 40)
        with self.assertRaises(TypeError):
            converted(mixed, 2)

    def test_tensor_arrays_are_written_and_read_where_only_a_run_knows(self):
        def squares(x):
            array = tf.TensorArray(tf.int32, size=4)
            for i in tf.range(4):
                if i < x:
                    array = array.write(i, [i * i, x])
            total = tf.constant([0, 0])
            i = tf.constant(0)
            while i < 4:
                total += array.read(i)
                i += 1
            return array.stack(), total, array.gather([x, 0]), array.concat(), array.size()

        def unstacked(x):
            array = tf.TensorArray(tf.int32, size=3).unstack([x, x * 2, x * 3])
            if x > 1:
                array = array.scatter([0, 2], [x, x])
            return array.stack()

        for x in (1, 3):
            given = converted(squares, x)[0]
            rows = [[i * i, x] if i < x else [0, 0] for i in range(4)]
            self.assertEqual([each.numpy().tolist() for each in given],
                             [rows, [sum(row[0] for row in rows), sum(row[1] for row in rows)], [rows[x], rows[0]], sum(rows, []), 4])
        self.check(unstacked, 1, 2)

        def growing(x):
            array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
            for i in tf.range(x):
                array = array.write(i, i)
            return array.stack()

        self.check(growing, 2, 5)

    def test_comprehensions_run_over_tensors_of_known_length(self):
        def listed(x):
            rows = tf.reshape(tf.range(6), [3, 2]) * x
            return [a[0] if x > 1 else b[1] for a, b in zip(rows, rows)], {int(i): row for i, row in enumerate([1, 2])}

        def unknown(x):
            return [i + 1 for i in range(x)]

        self.check(listed, 1, 2, calls=("branch",))
        self.refused(unknown, TypeError, "the length of a range of tensors is known only when the graph runs", 2)

    def test_a_walrus_a_limit_and_a_bool_of_python(self):
        def walrus(x):
            n = tf.constant(0)
            while (y := x - n) > 2:
                n += y
            return n, y

        def limited(x):
            while x > 0:
                tf.autograph.experimental.set_loop_options(maximum_iterations=3, shape_invariants=[(x, tf.TensorShape([]))])
                x -= 1
            return x

        self.check(walrus, 1, 3, 7, calls=("loop",))
        self.assertEqual([int(converted(limited, x)[0]) for x in (2, 3, 7)], [0, 0, 4])

    def test_numbers_that_both_branches_have_stay_pythons(self):
        def same(x):
            if x > 0:
                n, kind = 3, "a"
            else:
                n, kind = 3, "b"
            return n, kind

        (n, kind), _ = converted(same, 1)
        self.assertIs(type(n), int)
        self.assertIsInstance(kind, tf.Tensor)

    def test_print_and_assert(self):
        def printing(x):
            print("x is", x)
            assert x > 2, f"small, for {type(x).__name__}"
            return x

        with contextlib.redirect_stderr(io.StringIO()) as printed, contextlib.redirect_stdout(printed):
            self.assertEqual(int(converted(printing, 3)[0]), 3)
            line = self.first_line(printing)
            self.refused(printing, tf.errors.InvalidArgumentError, rf"line {line + 2}: assert\nsmall, for ", 1)
        self.assertEqual(printed.getvalue(), "x is 3\nx is 1\n")

    def test_branches_that_disagree_are_named_with_both_lines(self):
        def undefined(x):
            if x > 0:
                y = 1
            return y

        def dtypes(x):
            y = 1
            if x > 0:
                y = 2.5
            return y

        def structures(x):
            if x > 0:
                y = [x, x]
            else:
                y = (x, x)
            return y

        def objects(x):
            if x > 0:
                y = None
            else:
                y = x
            return y

        for function, error, text in (
                (undefined, ValueError, "'y' must also be initialized in the else branch of the if in line {1}: the main branch gives it a "
                                        "value in line {2}"),
                (dtypes, TypeError, "'y' must have the same dtype in both branches of the if in line {2}: it is float32 () in the main "
                                    "branch in line {3}, int32 () in the else branch, from before"),
                (structures, TypeError, "'y' must have the same structure in both branches of the if in line {1}: it is "
                                        "[int32 (), int32 ()] in the main branch in line {2}, (int32 (), int32 ()) in the else branch in "
                                        "line {4}"),
                (objects, TypeError, "'y' must have the same value, or be a tensor, in both branches of the if in line {1}: it is None in "
                                     "the main branch in line {2}, int32 () in the else branch in line {4}")):
            lines = [self.first_line(function) + offset for offset in range(6)]
            with self.subTest(function.__name__), self.assertRaises(error) as caught:
                converted(function, 1)
            self.assertEqual(str(caught.exception), text.format(*lines))

    def test_loops_that_change_a_form_and_other_refusals(self):
        def grows(x):
            y = tf.ones([1])
            while x > 0:
                y = tf.concat([y, y], 0)
                x -= 1
            return y

        def partly(x):
            if x > 0:
                return x

        def vector(x):
            if tf.stack([x, x]) > 0:
                x += 1
            return x

        for function, error, text in (
                (grows, ValueError, r"'y' must keep its shape in the loop in line {2}: it is float32 \(1,\) before the loop, float32 "
                                    r"\(2,\) after an iteration \(line {3}\)"),
                (partly, ValueError, "line {2}: a value is returned from one branch .* must be returned from all branches"),
                (vector, ValueError, r"line {1}: the condition of if is bool \(2,\); needs a scalar bool")):
            lines = [self.first_line(function) + offset for offset in range(6)]
            with self.subTest(function.__name__):
                self.refused(function, error, text.format(*lines), 2)

    def test_without_a_graph_tensors_are_pythons(self):
        def function(x):
            while x > 0:
                x -= 1
            return x

        with plugged_in() as graph:
            graph.is_symbolic = lambda value: False
            self.assertEqual(int(tf.autograph.to_graph(function)(tf.constant(3))), 0)
        self.assertEqual(graph.calls, [])


if __name__ == "__main__":
    unittest.main()
