"""Graphs give what eager execution gives: gradients, control flow, functions in functions, random programs."""
import io
import random
import tempfile
import unittest

import event_reader
import numpy as np

import tapedeck as tf
from tapedeck import tfe
from graph_mode import GraphCase, graphs


def gradients(f, xs, order=2):
    """f(*xs) and its derivatives up to that order, each summed."""
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with tf.GradientTape() as inner:
            inner.watch(xs)
            y = tf.reduce_sum(f(*xs))
        first = inner.gradient(y, xs, unconnected_gradients="zero")
    if order == 1:
        return y, first
    return y, first, [outer.gradient(each, xs, unconnected_gradients="zero") for each in first]


class Gradients(GraphCase):
    def test_inside_and_outside_of_functions(self):
        w = tf.Variable([[1., -2.], [0.5, 3.]])

        def f(x, y):
            return tf.tanh(tf.matmul(x, w)) * y

        xs = [tf.constant([[1., 2.]]), tf.constant([[3., 4.]])]
        made = tf.function(f)
        for _ in range(2):
            self.assertSame(gradients(f, xs), gradients(made, xs))
        self.assertAsEager(lambda *xs: gradients(f, list(xs)), *xs)
        self.assertAsEager(lambda *xs: gradients(made, list(xs)), *xs)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(made(*xs))
        with tf.GradientTape() as eager_tape:
            eager = tf.reduce_sum(f(*xs))
        self.assertSame(eager_tape.gradient(eager, w), tape.gradient(loss, w))

    def test_with_respect_to_a_captured_tensor(self):
        x = tf.constant(3.)
        f = tf.function(lambda y: x * x * y)
        for _ in range(2):
            with tf.GradientTape() as tape:
                tape.watch(x)
                z = f(tf.constant(2.))
            self.assertEqual(float(tape.gradient(z, x)), 12.)

    def test_a_training_step(self):
        def train(step, w, b):
            w.assign([1., 2.])
            b.assign(0.5)
            return [float(step(tf.constant([1., k]), tf.constant(3.))) for k in (1., 2., 3.)] + w.numpy().tolist() + [float(b)]

        w, b = tf.Variable([1., 2.]), tf.Variable(0.5)

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = (tf.reduce_sum(w * x) + b - y)**2
            for variable, gradient in zip((w, b), tape.gradient(loss, [w, b])):
                variable.assign_sub(0.01 * gradient)
            return loss

        self.assertEqual(train(step, w, b), train(tf.function(step), w, b))

    def test_custom_gradients(self):
        weight = tf.Variable(3.)

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.math.log(1. + e), lambda dy: dy * (1. - 1. / (1. + e)) * 2.

        @tf.custom_gradient
        def clipped(x):
            def grad(dy, variables=None):
                return tf.clip_by_value(dy, -1., 1.), [tf.reduce_sum(dy) * 7. for _ in variables]
            return x * weight, grad

        @tf.custom_gradient
        def two(x, y):
            return (x + y, x * y), lambda a, b: (a * 2. + b * y, b * x)

        x, y = tf.constant([0.5, -1.5]), tf.constant([2., 3.])
        for f in (lambda x, y: log1pexp(x) * y, lambda x, y: clipped(x) * y, lambda x, y: tf.add(*two(x, y)) * x,
                  lambda x, y: log1pexp(clipped(x)) + two(x, y)[1], lambda x, y: tf.recompute_grad(lambda v: tf.sin(v) * y)(x)):
            made = tf.function(f)
            for order in (1, 2):
                self.assertSame(gradients(f, [x, y], order), gradients(made, [x, y], order))
                self.assertAsEager(lambda *xs: gradients(f, list(xs), order), x, y)
                self.assertSame(gradients(f, [x, y], order), tf.function(lambda *xs: gradients(made, list(xs), order))(x, y))
                around = tf.function(lambda x, y: made(x, y) * 1.)
                self.assertSame(gradients(lambda x, y: f(x, y) * 1., [x, y], order), gradients(around, [x, y], order))
            with tf.GradientTape() as tape:
                z = tf.reduce_sum(made(x, y))
            with tf.GradientTape() as eager:
                other = tf.reduce_sum(f(x, y))
            self.assertSame(eager.gradient(other, weight), tape.gradient(z, weight))

    def test_a_custom_gradient_that_fails_fails_where_it_is_asked_for(self):
        @tf.custom_gradient
        def f(x):
            def grad(dy):
                raise KeyError("no gradient")
            return x * 2., grad

        made = tf.function(f)
        self.assertEqual(float(made(tf.constant(1.))), 2.)
        with self.assertRaisesRegex(RuntimeError, "f: its gradient function could not be traced: KeyError: 'no gradient'"):
            gradients(made, [tf.constant(1.)], 1)


class Functions(GraphCase):
    def test_functions_in_functions(self):
        traces = []

        @tf.function
        def inner(x, k):
            traces.append(k)
            return tf.cond(tf.reduce_sum(x) > 0., lambda: x * k, lambda: x - k)

        @tf.function
        def loop(x):
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, inner(y, 2.)), (0, x))[1]

        def outer(x):
            return inner(x, 2.) + inner(x, 3.) + loop(x)

        for value in ([1., 2.], [-1., -2.]):
            x = tf.constant(value)
            with graphs():
                made = tf.function(outer)
                found = made(x)
            tf.config.run_functions_eagerly(True)
            expected = outer(x)
            tf.config.run_functions_eagerly(False)
            self.assertSame(expected, found)

    def test_a_function_of_a_function_uses_its_tensors(self):
        def f(x):
            y = x * 2.
            inner = tf.function(lambda z: z + y)
            return inner(x) * y

        self.assertAsEager(f, tf.constant([1., 2.]))
        self.assertSame(gradients(f, [tf.constant([3.])]), gradients(tf.function(f), [tf.constant([3.])]))

    def test_state_and_chance_of_inner_functions_are_those_of_each_call(self):
        count = tf.Variable(0)

        @tf.function
        def step():
            count.assign_add(1)
            return tf.random.uniform([])

        both = tf.function(lambda: (step(), step()))
        tf.random.set_seed(1)
        expected = [float(tf.random.uniform([])) for _ in range(4)]
        tf.random.set_seed(1)
        found = [float(each) for _ in range(2) for each in both()]
        self.assertEqual((found, int(count)), (expected, 4))


class Control(GraphCase):
    def test_branches(self):
        def f(x, y):
            a = tf.cond(tf.reduce_sum(x) > 1., lambda: {"a": x * y, "b": [1, None]}, lambda: {"a": x - y, "b": [2, None]})
            b = tf.case([(x[0] > 5., lambda: x), (x[0] > 0., lambda: y)], default=lambda: x + y)
            c = tf.switch_case(tf.cast(x[0], tf.int32), [lambda: x, lambda: y * 2., lambda: y * 3.])
            return a, b, c

        y = tf.constant([1., -1.])
        made = tf.function(f)
        for value in ([0., 0.], [1., 2.], [7., 1.], [-3., 9.], [2., -9.]):
            x = tf.constant(value)
            self.assertSame(tf.nest.map_structure(lambda v: v if v is None else tf.convert_to_tensor(v), f(x, y)), made(x, y))
            both = [gradients(lambda x, y: tf.concat(tf.nest.flatten([function(x, y)[0]["a"], *function(x, y)[1:]]), 0), [x, y])
                    for function in (f, made)]
            self.assertSame(*both)
        self.assertEqual(made.experimental_get_tracing_count(), 1)

    def test_loops(self):
        def f(x, n):
            def body(i, state):
                return i + 1, {"x": state["x"] * 1.5 + tf.cast(i, tf.float32), "k": state["k"] + 1}

            i, state = tf.while_loop(lambda i, state: i < n, body, (tf.constant(0), {"x": x, "k": tf.constant(3)}))
            limited = tf.while_loop(lambda v: v < 100., lambda v: v * 2., [x[0] + 1.], maximum_iterations=n)
            return i, state, limited

        made = tf.function(f)
        for n in (0, 1, 4):
            x = tf.constant([1., 2.])
            self.assertSame(f(x, tf.constant(n)), made(x, tf.constant(n)))
            self.assertSame(*[gradients(lambda x: function(x, tf.constant(n))[1]["x"], [x]) for function in (f, made)])
        self.assertEqual(made.experimental_get_tracing_count(), 1)

    def test_errors_name_what_differs(self):
        x = tf.constant(1.)
        with self.assertRaisesRegex(ValueError, "while_loop: loop variable 0 is float32 \\(\\), and body makes it float32 \\(1,\\)"):
            tf.function(lambda x: tf.while_loop(lambda v: v < 3., lambda v: tf.reshape(v, [1]), [x]))(x)

    def test_python_exceptions_of_branches_are_what_they_were(self):
        def raising():
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            tf.function(lambda x: tf.cond(x > 0., raising, lambda: x))(tf.constant(1.))
        self.assertTrue(tf.executing_eagerly())


class Host(GraphCase):
    def test_print_prints_when_the_graph_runs(self):
        stream = io.StringIO()

        @tf.function
        def f(x):
            tf.print("x:", x, {"twice": x * 2}, output_stream=stream)
            return tf.cond(x > 1, lambda: told(x), lambda: x)

        def told(x):
            tf.print("large", output_stream=stream)
            tf.print(x, output_stream=stream)
            return x

        f(tf.constant(1))
        f(tf.constant(3))
        self.assertEqual(stream.getvalue(), "x: 1 {'twice': 2}\nx: 3 {'twice': 6}\nlarge\n3\n")

    def test_checks_check_when_the_graph_runs(self):
        @tf.function
        def f(x):
            tf.debugging.assert_positive(x, "of x")
            tf.debugging.assert_near(x, x + 0.)
            tf.debugging.Assert(tf.reduce_all(x < 10.), [x])
            return x

        self.assertEqual(float(f(tf.constant(1.))), 1.)
        with self.assertRaisesRegex(ValueError, "of x\nCondition x > 0 did not hold"):
            f(tf.constant(-1.))
        with self.assertRaisesRegex(ValueError, "to be true"):
            f(tf.constant(11.))

    def test_checks_of_what_is_known_fail_where_a_run_gets_there(self):
        checks = (lambda x: tf.debugging.assert_less(tf.zeros_like(x), -1.), lambda x: tf.debugging.assert_near(tf.zeros_like(x), 1.),
                  lambda x: tf.debugging.Assert(tf.constant(False), ["never"]), lambda x: tf.debugging.check_numerics(x / 0., "of x"))
        for check in checks:
            @tf.function
            def f(x, check=check):
                if x > 0.:
                    check(x)
                return x

            self.assertEqual(float(f(tf.constant(-1.))), -1.)
            with self.assertRaises(tf.errors.InvalidArgumentError):
                f(tf.constant(1.))

    def test_summaries_are_written_when_the_graph_runs(self):
        step = tf.Variable(0, dtype=tf.int64)
        with tempfile.TemporaryDirectory() as folder:
            writer = tf.summary.create_file_writer(folder)

            @tf.function
            def f(x):
                with writer.as_default(), tf.name_scope("part"):
                    tf.summary.scalar("loss", x * 2., step=step)
                    tf.summary.histogram("spread", tf.stack([x, x]), step)
                step.assign_add(1)
                return x

            for value in (1., 2.):
                f(tf.constant(value))
            writer.close()
            found = [(event.step, value.tag, float(value.tensor) if value.tag == "part/loss" else None)
                     for event in event_reader.events(folder) for value in event.values]
        self.assertEqual(found, [(0, "part/loss", 2.), (0, "part/spread", None), (1, "part/loss", 4.), (1, "part/spread", None)])

    def test_an_error_of_a_run_names_its_line(self):
        @tf.function
        def inner(x, i):
            return tf.gather(x, i)

        @tf.function
        def outer(x, i):
            return tf.cond(i > 0, lambda: inner(x, i), lambda: x[0])

        line = inner.python_function.__code__.co_firstlineno + 2
        for function in (inner, outer):
            function(tf.ones([2]), tf.constant(1))
            with self.assertRaises(ValueError) as caught:
                function(tf.ones([2]), tf.constant(7))
            self.assertEqual(caught.exception.__notes__, [f"In the graph of {function.__name__}: {__file__}, line {line}"])

    def test_python_functions_are_called_when_the_graph_runs(self):
        seen = []

        @tf.function
        def f(x):
            tf.py_function(lambda value: seen.append(float(value)), [x], None)
            tf.numpy_function(lambda value: seen.append(type(value)), [x], [])
            return x

        f(tf.constant(1.))
        f(tf.constant(2.))
        self.assertEqual(seen, [1., np.ndarray, 2., np.ndarray])


def random_program(seed):
    """A function of two tensors, of random ops, and how many results it has."""
    chosen = random.Random(seed)
    steps = []
    unary = [tf.tanh, tf.exp, tf.abs, tf.sign, tf.sqrt, tf.negative, lambda v: tf.reduce_sum(v, axis=0, keepdims=True) + v, tf.sin,
             lambda v: tf.where(v > 0., v, v * 0.1), lambda v: tf.transpose(tf.transpose(v)), lambda v: tf.cumsum(v, axis=1),
             lambda v: tf.nn.softmax(v), lambda v: v[::-1], lambda v: tf.concat([v[:1], v[1:]], 0), lambda v: tf.stop_gradient(v) * v]
    binary = [tf.add, tf.multiply, tf.subtract, tf.maximum, lambda a, b: a / (tf.abs(b) + 1.),
              lambda a, b: tf.matmul(a, b, transpose_b=True) @ b]
    control = [lambda a, b: tf.cond(tf.reduce_sum(a) > 0., lambda: a * 2., lambda: b - a),
               lambda a, b: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v + b)), (0, a))[1]]
    for number in range(chosen.randint(3, 14)):
        kind = chosen.choice(("unary", "unary", "binary", "binary", "control"))
        steps.append((chosen.choice({"unary": unary, "binary": binary, "control": control}[kind]), kind != "unary",
                      chosen.randint(0, number + 1), chosen.randint(0, number + 1)))

    def program(x, y):
        values = [x, y]
        for function, of_two, first, second in steps:
            values.append(function(values[first], values[second]) if of_two else function(values[first]))
        return values[-1], values[-2]

    return program


class Programs(GraphCase):
    def test_random_programs_give_the_same_bits(self):
        for seed in range(40):
            program, rng = random_program(seed), np.random.default_rng(seed)
            x, y = (tf.constant(rng.normal(size=(3, 3)), tf.float32) for _ in range(2))
            with self.subTest(seed=seed):
                made = self.assertAsEager(program, x, y)
                self.assertSame(*[gradients(lambda x, y: f(x, y)[0], [x, y]) for f in (program, made)])
                self.assertAsEager(lambda x, y: gradients(lambda x, y: program(x, y)[0], [x, y], 1), x, y)

    def test_a_gradient_repeats_what_was_drawn(self):
        x = tf.ones([3, 4])

        def f(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.nn.dropout(tf.nn.dropout(x, rate=0.3) * 2., rate=0.5) + tf.nn.dropout(x, rate=0.5)
            return y, tape.gradient(y, x), tf.random.gamma([2], 3.), tf.random.normal([2])

        made, around = tf.function(f), tf.function(lambda x: made(x))
        outer = tf.function(lambda x: tf.nn.dropout(tf.nn.dropout(x, rate=0.3) * x, rate=0.5))

        def run(function, gradient_of):
            tf.random.set_seed(4)
            found = [function(x) for _ in range(3)]
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = gradient_of(x)
            return [*found, y, tape.gradient(y, x)]

        expected = run(f, outer.python_function)
        self.assertSame(expected, run(made, outer))
        self.assertSame(expected, run(around, tf.function(lambda x: outer(x))))

    def test_a_training_step_with_layers(self):
        def losses(eagerly):
            tf.config.run_functions_eagerly(eagerly)
            tf.random.set_seed(1)
            model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.BatchNormalization(),
                                         tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(2)])
            x = tf.constant(np.random.default_rng(0).normal(size=(16, 4)), tf.float32)
            y = tf.constant(np.arange(16) % 2)
            model(x)
            optimizer = tf.keras.optimizers.Adam(0.01)
            loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            mean = tf.keras.metrics.Mean()

            @tf.function
            def step(x, y):
                with tf.GradientTape() as tape:
                    loss = loss_of(y, model(x, training=True))
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                mean.update_state(loss)
                return loss, optimizer.iterations

            found = [step(x, y) for _ in range(4)]
            return found, mean.result(), [tf.convert_to_tensor(each) for each in model.variables]

        self.assertSame(losses(True), losses(False))

    def test_optimisers_of_the_first_generation(self):
        def run(eagerly):
            tf.config.run_functions_eagerly(eagerly)
            w, count = tf.Variable([1., 2.]), tf.Variable(0)
            optimizer = tf.train.AdamOptimizer(0.1)

            @tf.function
            def step(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum((w - x)**2)
                optimizer.apply_gradients([(tape.gradient(loss, w), w)], global_step=count)
                return w * 1., count

            return [step(tf.constant([3., 1.])) for _ in range(3)]

        self.assertSame(run(True), run(False))

    def test_layers(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(2)])
        made = tf.function(model)
        x = tf.constant(np.random.default_rng(1).normal(size=(3, 5)), tf.float32)
        found = made(x)
        self.assertSame(model(x), found)
        self.assertSame(model(x), made(x))
        self.assertEqual(made.experimental_get_tracing_count(), 2)

    def test_defun(self):
        calls = []

        @tfe.defun
        def f(x):
            calls.append(1)
            return x + 1.

        self.assertEqual([float(f(tf.constant(v))) for v in (1., 2.)], [2., 3.])
        self.assertEqual(calls, [1])


if __name__ == "__main__":
    unittest.main()
