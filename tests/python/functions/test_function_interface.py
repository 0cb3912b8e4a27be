"""What can be made a tf.function, what it says of itself, and what it refuses."""
import dataclasses
import functools
import inspect
import os
import sys
import unittest
import warnings

import tapedeck as tf
from graph_mode import GraphCase
from tapedeck import tfe

HERE = os.path.basename(__file__)


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


class Kinds(GraphCase):
    def test_static_and_class_methods_in_either_order_of_decorators(self):
        class Scale:
            factor = 3.

            @staticmethod
            @tf.function
            def outer(x):
                return x + 1.

            @tf.function
            @staticmethod
            def inner(x):
                return x + 1.

            @classmethod
            @tf.function
            def outer_of_class(cls, x):
                return x * cls.factor

            @tf.function
            @classmethod
            def inner_of_class(cls, x):
                return x * cls.factor

            @property
            @tf.function
            def constant(self):
                return tf.constant(self.factor)

        x = tf.constant(1.)
        for owner in (Scale, Scale()):
            self.assertEqual([float(owner.outer(x)), float(owner.inner(x))], [2., 2.])
            self.assertEqual([float(owner.outer_of_class(x)), float(owner.inner_of_class(x))], [3., 3.])
        self.assertEqual(float(Scale().constant), 3.)

    def test_partials_lambdas_and_objects(self):
        made = tf.function(functools.partial(lambda a, b, c=2.: a - b * c, 10.))
        self.assertEqual([float(made(tf.constant(b))) for b in (1., 2.)], [8., 6.])
        self.assertEqual(made.experimental_get_tracing_count(), 1)
        around = functools.partial(tf.function(lambda x, y: x * y), tf.constant(2.))
        self.assertEqual(float(around(tf.constant(4.))), 8.)

        class Doubling:
            def __call__(self, x):
                return x * 2.

        self.assertEqual(float(tf.function(Doubling())(tf.constant(2.))), 4.)

    def test_generators_and_coroutines_are_refused_in_tensorflows_words(self):
        def numbers(x):
            yield x

        async def later(x):
            return x

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nothing awaits the coroutine
            for function, kind in ((numbers, "generator"), (later, "coroutine")):
                with self.assertRaisesRegex(TypeError, f"To be compatible with tf.function.*found return value of type {kind}"):
                    tf.function(function)(tf.constant(1.))

    def test_options_change_nothing(self):
        made = tf.function(lambda x: x * 2., jit_compile=True, reduce_retracing=True, experimental_implements="doubled",
                           experimental_autograph_options=None, experimental_relax_shapes=True, autograph=False)
        self.assertEqual(float(made(tf.constant(2.))), 4.)
        self.assertTrue(made.function_spec.jit_compile)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'jit'"):
            tf.function(lambda x: x, jit=True)

    def test_without_autograph_a_tensor_does_not_decide(self):
        @tf.function(autograph=False)
        def f(x):
            return x if x > 0. else -x

        with self.assertRaisesRegex(TypeError, r"bool\(\) needs a value, which the tensor 'greater_2:0'"):
            f(tf.constant(1.))


class Says(GraphCase):
    def test_the_function_spec(self):
        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def f(x, scale=2., *rest, flag=False):
            return x * scale

        spec = f.function_spec
        self.assertEqual((spec.arg_names, spec.vararg_name, spec.kwonly_names), (["x", "scale"], "rest", ["flag"]))
        self.assertEqual(spec.signature_summary(True), "f(x, scale=2.0, *rest, flag=False)")
        self.assertEqual(spec.fullargspec, inspect.getfullargspec(f.python_function))
        self.assertEqual((spec.input_signature, f.name), (f.input_signature, "f"))

    def test_input_signatures_are_lists_of_specs(self):
        for wrong, sentence in ((tf.TensorSpec([], tf.float32), "must be either a tuple or a list, got TensorSpec"),
                                ([3], r"Invalid input_signature \[3\].*got 3")):
            with self.assertRaisesRegex(TypeError, sentence):
                tf.function(lambda x: x, input_signature=wrong)

    def test_tensors_may_come_by_their_parameters_or_their_specs_names(self):
        concrete = tf.function(lambda x, y=2., *, z: x * y + z).get_concrete_function(
            tf.TensorSpec([], tf.float32, name="factor"), z=tf.TensorSpec([], tf.float32))
        one, three = tf.constant(1.), tf.constant(3.)
        self.assertEqual([float(concrete(**{name: one, "z": three})) for name in ("x", "factor")], [5., 5.])

    def test_where_ops_become_part_of_a_graph(self):
        seen = []

        @tf.function
        def f(x):
            seen.append((tf.inside_function(), tf.executing_eagerly(), tfe.in_graph_mode()))
            with tf.init_scope():
                seen.append((tf.inside_function(), tf.executing_eagerly(), tfe.in_graph_mode()))
            return x

        f(tf.constant(1.))
        self.assertEqual(seen, [(True, False, True), (False, True, False)])
        self.assertFalse(tf.inside_function())

    def test_functions_run_eagerly_inside_of_a_trace_where_that_is_said(self):
        inner = tf.function(lambda x: x * 2.)

        @tf.function
        def outer(x):
            tf.config.run_functions_eagerly(True)
            try:
                return inner(x)
            finally:
                tf.config.run_functions_eagerly(False)

        self.assertEqual(float(outer(tf.constant(3.))), 6.)
        self.assertEqual(inner.experimental_get_tracing_count(), 0)

    def test_print_without_tensors_prints_at_each_call(self):
        import io
        out = io.StringIO()

        @tf.function
        def f(x):
            tf.print("called", output_stream=out)
            return x

        for _ in range(3):
            f(tf.constant(1.))
        self.assertEqual(out.getvalue(), "called\n" * 3)


class Structures(GraphCase):
    def test_classes_of_attrs_are_taken_apart(self):
        try:
            import attr
        except ImportError:
            self.skipTest("needs attrs")

        @attr.s
        class Pair:
            left = attr.ib()
            _right = attr.ib()

        @tf.function
        def f(pair):
            return Pair(pair.left + pair._right, pair.left)

        for value in (1., 2.):
            found = f(Pair(tf.constant(value), tf.constant(5.)))
            self.assertEqual((type(found), float(found.left), float(found._right)), (Pair, value + 5., value))
        self.assertEqual(f.experimental_get_tracing_count(), 1)

    def test_classes_with_tensorflows_flatten_are_taken_apart(self):
        @dataclasses.dataclass
        class Masked:
            mask: bool
            value: object

            def __tf_flatten__(self):
                return (self.mask,), (self.value,)

            @classmethod
            def __tf_unflatten__(cls, metadata, components):
                return cls(metadata[0], components[0])

        @tf.function
        def f(masked):
            return Masked(masked.mask, masked.value * 2.)

        for mask, value in ((True, 1.), (True, 2.), (False, 3.)):
            found = f(Masked(mask, tf.constant(value)))
            self.assertEqual((type(found), found.mask, float(found.value)), (Masked, mask, value * 2.))
        self.assertEqual(f.experimental_get_tracing_count(), 2)  # what is said of the mask belongs to the signature

    def test_other_dataclasses_count_by_identity_and_are_no_results(self):
        @dataclasses.dataclass
        class Plain:
            value: object

        read = tf.function(lambda plain: plain.value * 2.)
        for plain in (Plain(tf.constant(1.)), Plain(tf.constant(1.))):
            self.assertEqual([float(read(plain)) for _ in range(2)], [2., 2.])
        self.assertEqual(read.experimental_get_tracing_count(), 2)
        with self.assertRaisesRegex(TypeError, "found return value of type Plain"):
            tf.function(Plain)(tf.constant(1.))

    def test_dicts_in_any_order_share_a_trace(self):
        made = tf.function(lambda values: values["a"] - values["b"])
        a, b = tf.constant(3.), tf.constant(1.)
        self.assertEqual([float(made({"a": a, "b": b})), float(made({"b": b, "a": a}))], [2., 2.])
        self.assertEqual(made.experimental_get_tracing_count(), 1)

    def test_globals_are_read_while_the_function_is_traced(self):
        factor = 2.
        made = tf.function(lambda x: x * factor)
        found = [float(made(tf.constant(1.)))]
        factor = 5.
        self.assertEqual([*found, float(made(tf.constant(1.))), float(made(tf.constant([1.]))[0])], [2., 2., 5.])


class Refused(GraphCase):
    def test_endless_recursion_names_the_line(self):
        @tf.function
        def f(x):
            return f(x) + 1.

        @tf.function
        def down(x):
            if x > 0.:
                return down(x - 1.)
            return x

        @tf.function
        def there(x):
            return back(x)

        @tf.function
        def back(x):
            return there(x)

        @tf.function
        def longer(x):
            return longer(tf.concat([x, x[:1]], 0))

        for function, offset in ((f, 2), (down, 3), (there, 2), (longer, 2)):
            python = function.python_function
            argument = tf.constant([1.]) if function is longer else tf.constant(1.)
            with self.assertRaisesRegex(RecursionError, f"calls itself without end while it is traced, .*{HERE}, line") as caught:
                function(argument)
            if function is not there:
                self.assertIn(f"line {line_of(python, offset)})", str(caught.exception))
            self.assertFalse(tf.inside_function())
        self.assertEqual(float(tf.function(lambda x: x + 1.)(tf.constant(1.))), 2.)

    def test_endless_recursion_ends_before_the_process_stack_does(self):
        @tf.function
        def longer(x):
            return longer(tf.concat([x, x[:1]], 0))

        self.addCleanup(sys.setrecursionlimit, sys.getrecursionlimit())
        sys.setrecursionlimit(10**6)
        with self.assertRaisesRegex(RecursionError, "calls itself without end while it is traced, 256 calls deep"):
            longer(tf.constant([1.]))

    def test_a_python_number_ends_a_recursion(self):
        @tf.function
        def factorial(n, one):
            return one if n <= 1 else n * factorial(n - 1, one)

        self.assertEqual(float(factorial(40, tf.constant(1., tf.float64))), 8.159152832478977e+47)

    def test_a_second_variable_names_its_line(self):
        @tf.function
        def f(x):
            return tf.Variable(1.) * x

        line = line_of(f.python_function, 2)
        with self.assertRaisesRegex(ValueError, rf"singleton tf.Variables created on the first call.*\(line {line}\)"):
            f(tf.constant(1.))

    def test_a_deleted_variable_stays_alive_in_its_graph(self):
        holder = {"variable": tf.Variable(2.)}
        f = tf.function(lambda x: x * holder["variable"])
        concrete = f.get_concrete_function(tf.constant(1.))
        del holder["variable"]
        self.assertEqual([float(concrete(tf.constant(3.))), float(f(tf.constant(3.)))], [6., 6.])
        with self.assertRaisesRegex(KeyError, "variable"):
            f(tf.constant([1.]))

    def test_a_tensor_of_another_trace_and_a_value_read(self):
        kept = []
        tf.function(lambda x: kept.append(x * 2.))(tf.constant(1.))
        for use in (lambda x: x + kept[0], lambda x: kept[0]):
            with self.assertRaisesRegex(ValueError, "belongs to the trace of another graph function, which has ended"):
                tf.function(use)(tf.constant(1.))
        with self.assertRaisesRegex(TypeError, r"numpy\(\) needs a value, which the tensor 'x'.* does not have yet"):
            tf.function(lambda x: x.numpy())(tf.constant(1.))
        self.assertEqual(float(tf.function(lambda x: x)(tf.constant(1.))), 1.)


class Tapes(GraphCase):
    """Tapes around a function, and its own."""

    def test_a_tape_of_outside_is_not_changed_inside(self):
        x = tf.constant(3.)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)

            def paused(x):
                with tape.stop_recording():
                    return x * x

            for name, use in (("stop_recording", paused), ("watch", lambda x: tape.watch(x)), ("reset", lambda x: tape.reset()),
                              ("gradient", lambda x: tape.gradient(x, x))):
                with self.assertRaisesRegex(tf.errors.FailedPreconditionError,
                                            f"^{name}: the tape was started outside of the graph function"):
                    tf.function(use)(x)
            y = tf.function(lambda x: x * x)(x)
        self.assertEqual(float(tape.gradient(y, x)), 6.)

    def test_the_functions_own_tape_pauses_where_runs_fill_it(self):
        def slope(x, count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
                for _ in tf.range(count):
                    y = y * x
                with tape.stop_recording():
                    z = y * x
                total = y + z
            return tape.gradient(total, x)

        for count in (0, 2):
            self.assertAsEager(slope, tf.constant(3.), tf.constant(count))

    def test_the_functions_own_tape_begins_anew(self):
        def slope(x, count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
                tape.reset()
                tape.watch(x)
                for _ in tf.range(count):
                    y = y * x
            return tape.gradient(y, x)

        self.assertAsEager(slope, tf.constant(3.), tf.constant(2))

    def test_the_functions_own_tape_goes_on_where_it_is_entered_again(self):
        def slope(x, count):
            tape = tf.GradientTape()
            with tape:
                tape.watch(x)
                y = x * x
                for _ in tf.range(count):
                    y = y * x
            unseen = y * 100.
            with tape:
                z = y * x + unseen
            return tape.gradient(z, x)

        self.assertAsEager(slope, tf.constant(3.), tf.constant(2))
        x = tf.constant(2.)
        outside = tf.GradientTape()
        with outside:
            outside.watch(x)
            y = x * x

        def entered(y):
            with outside:
                return y * 3.

        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "^start: the tape was started outside of the graph function"):
            tf.function(entered)(y)

    def test_jacobians_through_loops(self):
        def of(x, count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(count):
                    y = y * x * x[0]
            return tape.jacobian(y, x)

        def of_rows(x, count):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(count):
                    y = y * x
            return tape.batch_jacobian(y, x)

        self.assertAsEager(of, tf.constant([1., 2.]), tf.constant(2))
        self.assertAsEager(of_rows, tf.constant([[1., 2.], [3., 4.]]), tf.constant(2))

    def test_forward_mode_inside_and_around(self):
        def power(x, count):
            y = x
            for _ in tf.range(count):
                y = y * x
            return y

        def inside(x, direction, count):
            with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
                y = power(x, count)
            return y, accumulator.jvp(y)

        x, direction, count = tf.constant([2., 3.]), tf.constant([1., 10.]), tf.constant(2)
        self.assertAsEager(inside, x, direction, count)
        with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
            y = tf.function(power)(x, count)
        self.assertSame((y, accumulator.jvp(y)), inside(x, direction, count))

    def test_recomputed_gradients_and_jacobians_inside_and_around(self):
        weight = tf.Variable([[.5, -1.], [2., .1]])

        @tf.recompute_grad
        def layer(x):
            return tf.tanh(x @ weight)

        def inside(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = layer(layer(x))
            return y, tape.gradient(y, [x, weight]), tape.jacobian(y, [x, weight]), tape.batch_jacobian(y, x)

        x = tf.constant([[1., 2.], [.3, -.4]])
        self.assertAsEager(inside, x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.function(lambda x: layer(layer(x)))(x)
        self.assertSame((y, tape.gradient(y, [x, weight]), tape.jacobian(y, [x, weight]), tape.batch_jacobian(y, x)), inside(x))

    def test_variables_that_only_a_loop_or_a_branch_reads_have_gradients(self):
        weight, other, bound = tf.Variable([[.5, -1.], [2., .1]]), tf.Variable(3.), tf.Variable(100.)

        def loop(x, count):
            with tf.GradientTape() as tape:
                for _ in tf.range(count):
                    if tf.reduce_sum(x) < bound:
                        x = tf.tanh(x @ weight)
                    else:
                        x = x * other
            return tape.gradient(x, [weight])

        self.assertAsEager(loop, tf.constant([[1., 2.]]), tf.constant(3))

        @tf.function
        def branch(x):
            with tf.GradientTape() as tape:
                y = tf.cond(x > 0., lambda: x * other, lambda: x)
            return tape.gradient(y, [other, bound])

        found = branch(tf.constant(2.))
        self.assertEqual((float(found[0]), found[1]), (2., None))


if __name__ == "__main__":
    unittest.main()
