"""What TensorFlow's own tests ask of functions: errors of branches and loops that disagree, predicates of one element, concrete functions
with other variables and without structures, variables of tfe.defun."""
import operator
import unittest

import tapedeck as tf
from graph_mode import GraphCase


def line_of(function):
    return function.__code__.co_firstlineno


class Disagreements(GraphCase):
    def test_what_the_functions_of_cond_return_is_shown_with_both_lines(self):
        x = tf.constant(1.)
        for one, other, shown in (
                (lambda: x, lambda: tf.cast(x, tf.int32), ("float32 ()", "int32 ()")),
                (lambda: (x, x), lambda: x, ("(float32 (), float32 ())", "float32 ()")),
                (lambda: [x], lambda: [x, x], ("[float32 ()]", "[float32 (), float32 ()]")),
                (lambda: x, lambda: None, ("float32 ()", "None"))):
            with self.subTest(shown), self.assertRaises(TypeError) as caught:
                tf.function(lambda x, one=one, other=other: tf.cond(x > 0., one, other), autograph=False)(x)
            self.assertEqual(str(caught.exception), "cond: true_fn and false_fn must return the same number, type and structure of values: "
                             f"true_fn in line {line_of(one)} returns {shown[0]}, false_fn in line {line_of(other)} returns {shown[1]}")

    def test_case_shows_what_one_function_and_the_others_return(self):
        one, other = (lambda: tf.constant(1.)), (lambda: tf.constant(2))
        with self.assertRaisesRegex(TypeError, rf"case: its functions must return .* in line {line_of(one)} returns float32 \(\), another "
                                               r"returns int32 \(\)"):
            tf.function(lambda x: tf.switch_case(x, [one, other]), autograph=False)(tf.constant(1))

    def test_shapes_of_branches_may_differ(self):
        seen = []

        @tf.function
        def f(x):
            if x > 0.:
                y = tf.zeros([2, 3])
            else:
                y = tf.zeros([4, 3])
            seen.append(y.shape)
            return y

        self.assertEqual([f(tf.constant(value)).shape for value in (1., -1.)], [(2, 3), (4, 3)])
        self.assertEqual(seen[0].as_list(), [None, 3])

    def test_a_loop_variable_keeps_its_dtype_and_shape(self):
        def loop(body):
            return tf.function(lambda x: tf.while_loop(lambda n, v: n < 3, body, (0, x)), autograph=False)(tf.constant([1.]))

        def dtype(n, v):
            return n + 1, tf.cast(v, tf.float16)

        def shape(n, v):
            return n + 1, tf.concat([v, v], 0)

        with self.assertRaisesRegex(TypeError, r"loop variable 1 is float32 \(1,\), and body makes it float16 \(1,\) \(line "
                                               rf"{line_of(dtype) + 1}\)"):
            loop(dtype)
        with self.assertRaisesRegex(ValueError, r"loop variable 1 is float32 \(1,\), and body makes it float32 \(2,\) \(line "
                                                rf"{line_of(shape) + 1}\); shape_invariants with None there let its shape change"):
            loop(shape)


class Predicates(GraphCase):
    def test_one_element_of_any_rank_decides(self):
        def f(x):
            if x > 0.:
                x = x * 2.
            while x < 10.:
                x = x + 3.
            x = tf.cond(x > 11., lambda: x, lambda: -x)
            return tf.while_loop(lambda v: v < 20., lambda v: v * v, [x])[0]

        for value in (4., 1., -9.):
            self.assertSame(f(tf.constant([[value]])), tf.function(f)(tf.constant([[value]])))
        for wrong in ([1., 2.], []):
            for function in (f, tf.function(f)):
                with self.assertRaises(ValueError):
                    function(tf.constant(wrong))

    def test_max_and_min_choose_as_python_does(self):
        def f(x, y, z):
            with tf.GradientTape() as tape:
                tape.watch([x, y, z])
                best = max(x, y, z) * min(z, 2.5, x) + max(0, y)
            return best, tape.gradient(best, [x, y, z], unconnected_gradients="zero"), 1. / max(zero, x * 0.), 1. / min(x * 0., zero)

        zero, nan = tf.constant(-0.), float("nan")
        for values in ((1., 1., 1.), (3., -2., 1.), (nan, 1., 2.), (1., nan, 2.), (-0., 0., -0.)):
            tensors = list(map(tf.constant, values))
            with self.subTest(values):
                self.assertSame(f(*tensors), tf.function(f)(*tensors))
        with self.assertRaisesRegex(ValueError, r"a comparison of max\(\) is bool \(2,\); needs a scalar bool"):
            tf.function(lambda v: max(v, 0.))(tf.constant([1., 2.]))


class Gradients(GraphCase):
    def test_back_prop_false_cuts_the_gradient_of_a_loop(self):
        def f(x):
            return tf.while_loop(lambda v: v < 100., tf.square, [x], back_prop=False)[0] + x

        x = tf.constant(2.)
        for function in (f, tf.function(f)):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            self.assertEqual((float(y), float(tape.gradient(y, x))), (258., 1.))

    def test_what_a_gradient_computes_twice_counts_twice_for_a_tape_around(self):
        def f(x, u):
            if x > 0.:
                u = u / (1. + u) - u
            return tf.sin(u)

        def first(x, u):
            with tf.GradientTape() as tape:
                tape.watch(u)
                y = tf.reduce_sum(f(x, u) * [1., 2., 3.])
            return tape.gradient(y, u)

        def second(x, u):
            with tf.GradientTape() as tape:
                tape.watch(u)
                y = tf.reduce_sum(first(x, u) ** 2.)
            return tape.gradient(y, u)

        u = tf.constant([.9, .9, -.1])
        for x in (1., -1.):
            self.assertSame(second(tf.constant(x), u), tf.function(second)(tf.constant(x), u))

    def test_a_tape_outside_that_watches_what_a_loop_or_branch_reads(self):
        def inner(n, v):
            return tf.while_loop(lambda c, _: c > 0., lambda c, w: (c - 1., w * n + 1.), [v, v])[1]

        n = tf.constant(3.)
        functions = [lambda v: tf.while_loop(lambda i, _: i >= 0., lambda i, p: (i - 1., p * n + tf.sin(p)), [v, v])[1],
                     lambda v: tf.while_loop(lambda i, _: i >= 0., lambda i, p: (i - 1., p + inner(n, i)), [v, v])[1],
                     lambda v: tf.cond(v > 0., lambda: v * n * tf.sin(v), lambda: v)]

        def gradients(function, watched):
            v = tf.constant(2.)
            with tf.GradientTape() as tape:
                tape.watch([n, v] if watched else n)
                y = function(v)
            return tape.gradient(y, n)

        for function in functions:
            for watched in (False, True):
                self.assertSame(gradients(function, watched), gradients(tf.function(function, autograph=False), watched))


class Items(GraphCase):
    def test_gradients_of_variables_whose_items_are_used_are_whole(self):
        variable = tf.Variable([.5, -.5, .25])

        def loop(x):
            for item in variable:
                x = tf.tanh(x * item)
                variable.assign_add([.1, .2, .3])
            return x

        def mapped(x):
            return tf.reduce_sum(tf.map_fn(lambda item: tf.sin(item * x), variable))

        def gradient(function):
            variable.assign([.5, -.5, .25])
            with tf.GradientTape() as tape:
                y = function(tf.constant(2.))
            return tape.gradient(y, variable)

        for function in (loop, mapped):
            self.assertIs(type(gradient(function)), tf.Tensor)
            self.assertSame(gradient(function), gradient(tf.function(function)))


class Concrete(GraphCase):
    def test_other_variables_than_those_of_the_trace(self):
        @tf.function
        def add(v, w, times=2.):
            v.assign_add(w * times)
            return v.read_value()

        a, b, c = tf.Variable(1.), tf.Variable(10.), tf.Variable(100.)
        made = add.get_concrete_function(a, b)
        self.assertEqual([float(made(a, b)), float(made(c, b)), float(made(a, c))], [21., 120., 261.])
        self.assertEqual([float(each) for each in (a, b, c)], [261., 10., 120.])

    def test_tensors_alone_and_by_name(self):
        spec, k = tf.TensorSpec(None, tf.float32), tf.constant

        @tf.function
        def f(x, **more):
            a, b, c = x
            return a + 10. * b + 100. * c + 1000. * more["d"]

        made = f.get_concrete_function((spec, spec, spec), d=spec)
        wanted = 4321.
        for call in (lambda: made((k(1.), k(2.), k(3.)), d=k(4.)), lambda: made(k(1.), k(2.), k(3.), k(4.)),
                     lambda: made(x=k(1.), x_1=k(2.), x_2=k(3.), d=k(4.)), lambda: made(k(1.), d=k(4.), x_1=k(2.), x_2=k(3.))):
            self.assertEqual(float(call()), wanted)
        named = f.get_concrete_function((tf.TensorSpec(None, name="a"), tf.TensorSpec(None, name="b"), spec), d=spec)
        self.assertEqual(float(named(a=k(1.), b=k(2.), x_2=k(3.), d=k(4.))), wanted)
        self.assertEqual([each.name for each in named.structured_input_signature[0][0]], ["a", "b", "x_2"])
        with self.assertRaisesRegex(TypeError, "takes 1 positional arguments, got 2"):
            made(k(1.), k(2.))

    def test_an_argument_beyond_the_signature_is_named(self):
        @tf.function(input_signature=[tf.TensorSpec([])])
        def f(x, training=True):
            return x if training else -x

        self.assertEqual(float(f(1.)), 1.)
        with self.assertRaisesRegex(TypeError, "input_signature has 1 entries, the call has 2 .*; it has none for 'training'"):
            f(tf.constant(1.), training=False)


class VariablesOfDefun(GraphCase):
    def test_each_trace_has_its_own(self):
        @tf.tfe.defun
        def count(x):
            seen = tf.Variable(tf.zeros_like(x))
            seen.assign_add(x)
            return seen.read_value()

        self.assertEqual([float(count(tf.constant(2.))) for _ in range(3)], [2., 4., 6.])
        self.assertEqual([count(tf.constant([1., 2.])).numpy().tolist() for _ in range(2)], [[1., 2.], [2., 4.]])
        self.assertEqual(float(count(tf.constant(1.))), 7.)

    def test_a_first_value_may_depend_on_the_arguments_of_the_first_call(self):
        made = []

        @tf.function
        def scaled(x, times):
            if not made:
                made.append(tf.Variable(2. * x + tf.cast(times, tf.float32)))
            return made[0] * x

        self.assertEqual([float(scaled(tf.constant(x), tf.constant(3))) for x in (1., 4.)], [5., 20.])
        self.assertEqual(float(made[0]), 5.)
        made.clear()
        with self.assertRaisesRegex(ValueError, "depends on an argument of the function that is being traced"):
            tf.function(scaled.python_function).get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([], tf.int32))

    def test_tf_function_refuses_them(self):
        with self.assertRaisesRegex(ValueError, "only supports singleton tf.Variables"):
            tf.function(lambda: operator.add(tf.Variable(1.), 1.))()


if __name__ == "__main__":
    unittest.main()
