"""tf.variable_scope, tf.get_variable, stores, templates and graph callables share and name variables as TensorFlow's eager does."""
import unittest

import numpy as np
import tapedeck as tf
from tapedeck import tfe


def ones(name="w", **arguments):
    return tf.get_variable(name, [2], initializer=tf.ones_initializer(), **arguments)


class VariableScope(unittest.TestCase):
    def test_names_begin_with_the_scopes_and_not_with_name_scopes_alone(self):
        with tf.name_scope("only_ops"), tf.variable_scope("outer") as outer, tf.variable_scope("inner") as inner:
            variable = ones()
        self.assertEqual((variable.name, outer.name, inner.name), ("outer/inner/w:0", "outer", "outer/inner"))
        self.assertEqual(inner.original_name_scope, "only_ops/outer/inner/")
        self.assertEqual(tf.get_variable_scope().name, "")

    def test_default_names_are_unique_in_the_scope_around(self):
        names = []
        with tf.variable_scope("defaults") as around:
            for _ in range(3):
                with tf.variable_scope(None, default_name="dense") as scope:
                    names.append(scope.name)
        with tf.variable_scope(around), tf.variable_scope(None, default_name="dense") as again:
            names.append(again.name)  # reopened: counting begins anew
        self.assertEqual(names, ["defaults/dense", "defaults/dense_1", "defaults/dense_2", "defaults/dense"])

    def test_a_scope_is_entered_again_from_anywhere_with_its_defaults(self):
        with tf.variable_scope("first", initializer=tf.constant_initializer(7.), dtype=tf.float64) as first:
            pass
        with tf.variable_scope("second"), tf.variable_scope(first):
            variable = tf.get_variable("v", [1])
        self.assertEqual((variable.name, variable.dtype, float(variable[0])), ("first/v:0", tf.float64, 7.))

    def test_defaults_come_from_the_innermost_scope_that_has_them(self):
        with tf.variable_scope("a", initializer=tf.zeros_initializer()):
            with tf.variable_scope("b", initializer=tf.ones_initializer()):
                inner = tf.get_variable("v", [1])
            outer = tf.get_variable("v", [1])
        self.assertEqual((float(inner[0]), float(outer[0])), (1., 0.))

    def test_custom_getters_nest_the_inner_one_first(self):
        order = []

        def getter_of(mark):
            def custom(getter, name, *args, **kwargs):
                order.append(mark)
                return getter(name + mark, *args, **kwargs)
            return custom

        with tf.variable_scope("g", custom_getter=getter_of("_outer")), tf.variable_scope("h", custom_getter=getter_of("_inner")):
            self.assertEqual(ones("v").name, "g/h/v_inner_outer:0")
        self.assertEqual(order, ["_inner", "_outer"])

    def test_a_scope_that_raises_is_closed(self):
        with self.assertRaises(KeyError), tf.variable_scope("left"):
            raise KeyError("inside")
        self.assertEqual(ones("after").name, "after:0")

    def test_records_carry_the_scope(self):
        with tf.variable_scope("records"), tf.name_scope("inside") as whole:
            pass
        self.assertEqual(whole, "records/inside/")

    def test_refusals_say_what_was_given(self):
        for error, text, arguments in (
                (TypeError, "name_or_scope is required", dict(name_or_scope=None)),
                (TypeError, "string or VariableScope", dict(name_or_scope=3)),
                (ValueError, "reuse", dict(name_or_scope="a", reuse="yes")),
                (NotImplementedError, "partitioner", dict(name_or_scope="a", partitioner=len))):
            with self.assertRaisesRegex(error, text):
                tf.variable_scope(**arguments)


class GetVariable(unittest.TestCase):
    def test_each_call_makes_one_where_no_store_is_open(self):
        with tf.variable_scope("unshared", reuse=tf.AUTO_REUSE):
            one, two = ones(), ones()
        self.assertIsNot(one, two)
        self.assertEqual(one.name, two.name)

    def test_initializers_are_functions_classes_tensors_or_the_default(self):
        self.assertEqual(tf.get_variable("f", [2, 3], initializer=tf.ones_initializer).numpy().sum(), 6)
        self.assertEqual(tf.get_variable("t", initializer=tf.constant([1, 2])).dtype, tf.int32)
        self.assertEqual(tf.get_variable("n", initializer=lambda: tf.constant([3.])).numpy().tolist(), [3.])
        self.assertEqual(tf.get_variable("i", [2], dtype=tf.int64).numpy().tolist(), [0, 0])
        drawn = tf.get_variable("x", [100, 100]).numpy()
        self.assertLess(abs(drawn).max(), np.sqrt(6 / 200))
        self.assertGreater(abs(drawn).max(), .9 * np.sqrt(6 / 200))

    def test_a_shape_beside_a_tensor_is_the_tensors(self):
        self.assertEqual(tf.get_variable("s", initializer=tf.constant(2.), shape=()).shape, ())
        with self.assertRaisesRegex(ValueError, r"If initializer is a constant, do not specify shape.*\(3,\)"):
            tf.get_variable("s", initializer=tf.constant(2.), shape=[3])

    def test_errors_have_tensorflows_words(self):
        with self.assertRaisesRegex(ValueError, r"Shape of a new variable \(a\) must be fully defined, but instead was <unknown>"):
            tf.get_variable("a")
        with self.assertRaisesRegex(ValueError, "Initializer type 'float32' and explicit dtype 'int32' don't match"):
            tf.get_variable("a", initializer=tf.constant(1.), dtype=tf.int32)
        with self.assertRaisesRegex(ValueError, "not callable"):
            ones(custom_getter=3)
        with self.assertRaisesRegex(ValueError, "needs a non-empty string"):
            ones("")

    def test_regularizers_add_to_the_collection(self):
        before = len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
        ones(regularizer=lambda variable: tf.reduce_sum(variable) * 3)
        ones(regularizer=tf.no_regularizer)
        found = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[before:]
        self.assertEqual([float(loss) for loss in found], [6.])


class Store(unittest.TestCase):
    def test_variables_are_shared_inside_by_name(self):
        store = tfe.EagerVariableStore()
        with store.as_default(), tf.variable_scope("scope"):
            first = ones()
        with store.as_default(), tf.variable_scope("scope"):
            second, other = ones(), ones("b", trainable=False)
        self.assertIs(first, second)
        self.assertEqual([variable.name for variable in store.variables()], ["scope/b:0", "scope/w:0"])
        self.assertEqual((store.trainable_variables(), store.non_trainable_variables()), ([first], [other]))
        self.assertIsNot(ones(), ones())  # outside again

    def test_sharing_refuses_another_shape_or_dtype(self):
        with tfe.EagerVariableStore().as_default():
            ones("v")
            with self.assertRaisesRegex(ValueError,
                                        r"Trying to share variable v, but specified shape \(3,\) and found shape \(2,\)\."):
                tf.get_variable("v", [3])
            with self.assertRaisesRegex(ValueError, "specified dtype int32 and found dtype float32"):
                tf.get_variable("v", [2], dtype=tf.int32)

    def test_a_copy_has_variables_of_its_own(self):
        store = tfe.EagerVariableStore()
        with store.as_default():
            ones()
        copied = store.copy()
        store.variables()[0].assign([5., 5.])
        self.assertEqual(copied.variables()[0].numpy().tolist(), [1., 1.])
        self.assertEqual(copied.variables()[0].name, "w:0")
        with copied.as_default():
            self.assertIs(ones(), copied.variables()[0])

    def test_another_thing_is_no_store(self):
        with self.assertRaisesRegex(ValueError, "cannot construct"):
            tfe.EagerVariableStore(3)


class Template(unittest.TestCase):
    def test_calls_share_and_templates_do_not(self):
        def linear(x):
            return x * tf.get_variable("k", [], initializer=tf.ones_initializer())

        first, second = tf.make_template("linear", linear), tf.make_template("linear", linear)
        self.assertEqual((first.variables, first.variable_scope), ([], None))
        first(2.), first(3.), second(1.)
        self.assertEqual([v.name for v in first.variables + second.variables], ["linear/k:0", "linear_1/k:0"])
        first.variables[0].assign(4.)
        self.assertEqual((float(first(2.)), float(second(2.))), (8., 2.))

    def test_scopes_inside_have_the_same_names_at_each_call(self):
        def layers(x):
            for _ in range(2):
                with tf.variable_scope(None, default_name="layer"):
                    x = x * tf.get_variable("k", [], initializer=tf.ones_initializer())
            return x

        template = tf.make_template("twice", layers)
        template(1.), template(1.)
        self.assertEqual([v.name for v in template.variables], ["twice/layer/k:0", "twice/layer_1/k:0"])

    def test_create_scope_now_takes_the_scope_where_it_is_made(self):
        with tf.variable_scope("here"):
            now = tf.make_template("t", lambda: ones(), create_scope_now_=True)
            later = tf.make_template("t", lambda: ones())
        self.assertEqual((now().name, later().name), ("here/t/w:0", "t/w:0"))

    def test_keywords_are_given_at_every_call(self):
        self.assertEqual(tf.make_template("kw", lambda x, y: x + y, y=5)(2), 7)

    def test_a_variable_made_later_is_refused(self):
        made = []

        def function():
            made.append(tf.get_variable(f"v{len(made)}", [1]))

        template = tf.make_template("grows", function)
        template()
        with self.assertRaisesRegex(ValueError, "New trainable variable created .* grows/v1:0"):
            template()

    def test_an_error_inside_tells_where_the_template_was_made(self):
        def fails():
            raise KeyError("no such thing")

        with self.assertRaises(KeyError) as caught:
            tf.make_template("failing", fails)()
        self.assertIn(__file__.rsplit("/", 1)[-1], "".join(caught.exception.__notes__))

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "unique_name cannot be used"):
            tf.make_template("a", len, unique_name_="b")
        with self.assertRaisesRegex(TypeError, "func_ is 3"):
            tf.make_template("a", 3)


class GraphCallable(unittest.TestCase):
    def test_variables_are_made_once_and_have_gradients(self):
        @tfe.graph_callable([tfe.ShapeAndDtype(shape=(), dtype=tf.float32)])
        def scaled(x):
            return tf.get_variable("v", initializer=tf.constant(2.), shape=()) * x

        self.assertEqual(float(scaled(3.)), 6.)
        scaled.variables[0].assign(5.)
        self.assertEqual(float(scaled(3)), 15.)
        self.assertEqual(float(tfe.gradients_function(scaled)(tf.constant(3.))[0]), 5.)
        self.assertEqual(scaled.__name__, "scaled")

    def test_two_have_variables_of_their_own(self):
        def count(x):
            variable = tf.get_variable("v", [], initializer=tf.zeros_initializer())
            variable.assign_add(x)
            return variable.read_value()

        spec = [tfe.ShapeAndDtype((), tf.float32)]
        first, second = tfe.graph_callable(spec)(count), tfe.graph_callable(spec)(count)
        first(1.)
        self.assertEqual((float(first(1.)), float(second(1.))), (2., 1.))

    def test_arguments_are_what_was_said(self):
        @tfe.graph_callable([tfe.ShapeAndDtype((None, 2), tf.float64)])
        def whole(x):
            return x

        self.assertEqual(whole([[1, 2]]).dtype, tf.float64)
        with self.assertRaisesRegex(ValueError, r"whole: argument 0 has shape \(1, 3\); graph_callable expects \(None, 2\)"):
            whole([[1., 2., 3.]])
        with self.assertRaisesRegex(TypeError, "2 arguments were given"):
            whole(1., 2.)
        with self.assertRaisesRegex(TypeError, r"accepted by the decorated function `f` \(2\) must match .* decorator \(1\)"):
            @tfe.graph_callable([tfe.ShapeAndDtype((), tf.float32)])
            def f(x, y):
                return x


class Collections(unittest.TestCase):
    def test_what_is_put_there_is_found_by_key_and_scope(self):
        tf.add_to_collections(["test_a", "test_b"], 1)
        variable = tf.Variable(1., name="scope/v")
        tf.add_to_collection("test_a", variable)
        self.assertEqual(len(tf.get_collection("test_a")), 2)
        self.assertEqual(tf.get_collection("test_b"), [1])
        self.assertIs(tf.get_collection("test_a", scope="scope/")[0], variable)
        self.assertEqual(tf.get_collection("test_none"), [])
        tf.get_collection_ref("test_b").append(2)
        self.assertEqual(tf.get_collection("test_b"), [1, 2])

    def test_variables_stand_in_none_and_need_no_initializing(self):
        variable = ones()
        self.assertFalse(any(each is variable for each in tf.trainable_variables() + tf.global_variables()))
        self.assertIsNone(tf.global_variables_initializer())
        self.assertTrue(bool(tf.is_variable_initialized(variable)))
        with self.assertRaisesRegex(TypeError, "needs a tf.Variable"):
            tf.is_variable_initialized(3)
