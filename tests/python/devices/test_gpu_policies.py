"""tfe.DEVICE_PLACEMENT_…: what becomes of inputs on another device."""
import contextlib
import io
import itertools
import unittest

import numpy as np

from device_names import CPU, full, GPU
import tapedeck as tf
from gpus import in_thread, OnGpus, setUpModule  # noqa: F401
from tapedeck import tfe

POLICIES = {"explicit": tfe.DEVICE_PLACEMENT_EXPLICIT, "warn": tfe.DEVICE_PLACEMENT_WARN, "silent": tfe.DEVICE_PLACEMENT_SILENT,
            "silent_for_int32": tfe.DEVICE_PLACEMENT_SILENT_FOR_INT32}
REFUSAL = (r"^(\w+: )+an input is on /[cg]pu:0 and the op runs on /[cg]pu:0; copy it first \(.gpu\(\), .cpu\(\)\), or choose another "
           r"policy(; called with .*)?$")


@contextlib.contextmanager
def policy(name):
    tf.config.experimental.set_device_policy(name)
    try:
        yield
    finally:
        tf.config.experimental.set_device_policy(None)


def placed(value, dtype, device):
    with tf.device(device):
        return tf.constant(value, dtype)


def is_refused(function):
    try:
        function()
    except ValueError:
        return True
    return False


class Policies(OnGpus):
    def outcome(self, name, function):
        """"copied", "told" or "refused"; with the result's values."""
        said = io.StringIO()
        with policy(name), contextlib.redirect_stdout(said):
            try:
                result = function()
            except ValueError as error:
                self.assertRegex(str(error), REFUSAL)
                return "refused", None
        self.assertRegex(said.getvalue(), r"^(\w+: an input is on /[cg]pu:0 and is copied to /[cg]pu:0\n)*$")
        return ("told" if said.getvalue() else "copied"), result

    def expected(self, name, dtype):
        return {"explicit": "refused", "warn": "told", "silent": "copied",
                "silent_for_int32": "copied" if dtype == "int32" else "refused"}[name]

    def test_an_input_that_is_elsewhere(self):
        for name, dtype, value, here in itertools.product(POLICIES, ("int32", "float32", "int64"), (3, [3, 4]), ("/cpu:0", "/gpu:0")):
            there = "/gpu:0" if here == "/cpu:0" else "/cpu:0"
            x, y = placed(value, dtype, here), placed(value, dtype, there)
            with self.subTest(policy=name, dtype=dtype, value=value, here=here):
                for function in (lambda: tf.negative(x), lambda: -x, lambda: x * 2, lambda: tf.add_n([x, x]), lambda: x + x):
                    with tf.device(there):
                        found, result = self.outcome(name, function)
                    self.assertEqual(found, self.expected(name, dtype))
                    if result is not None:
                        self.assertEqual(result.device, full(there))
                for scope in (None, "/gpu:0"):
                    for function in (lambda: x + y, lambda: y + x, lambda: tf.add_n([y, x]), lambda: tf.stack([x, y])):
                        with tf.device(scope):
                            found, result = self.outcome(name, function)
                        self.assertEqual(found, self.expected(name, dtype))
                        if result is not None:
                            self.assertEqual(result.device, GPU)

    def test_what_is_there_passes_and_numbers_of_python_go_anywhere(self):
        for name, dtype, value, device in itertools.product(POLICIES, ("int32", "float32"), (3, [3, 4]), ("/cpu:0", "/gpu:0")):
            x = placed(value, dtype, device)
            with self.subTest(policy=name, dtype=dtype, value=value, device=device), tf.device(device):
                for function in (lambda: x + x, lambda: x + 2, lambda: 2 * x, lambda: tf.maximum(x, 5), lambda: tf.add_n([x, x])):
                    found, result = self.outcome(name, function)
                    self.assertEqual((found, result.device), ("copied", full(device)))

    def test_copies_that_are_asked_for_pass(self):
        for name in POLICIES:
            with policy(name):
                x = placed([1., 2.], "float32", "/cpu:0")
                self.assertEqual((x.gpu().device, x.gpu().cpu().device), (GPU, CPU))
                np.testing.assert_array_equal(x.gpu().numpy(), [1., 2.])
                with tf.device("/gpu:0"):
                    self.assertEqual(tf.constant(np.ones(2)).device, GPU)

    def test_variables_are_given_what_is_there(self):
        for name, dtype, value, here in itertools.product(POLICIES, ("int32", "float32", "int64"), (3, [3, 4]), ("/cpu:0", "/gpu:0")):
            there = "/gpu:0" if here == "/cpu:0" else "/cpu:0"
            near, far = placed(value, dtype, here), placed(value, dtype, there)
            with tf.device(here):
                v = tf.Variable(near)
            with self.subTest(policy=name, dtype=dtype, value=value, here=here):
                for given in (near, value, np.array(value, dtype)):
                    for call in (v.assign, v.assign_add, v.assign_sub):
                        self.assertEqual(self.outcome(name, lambda: call(given))[0], "copied")
                with tf.device(here):
                    self.assertEqual(self.outcome(name, lambda: tf.Variable(value, dtype=dtype))[0], "copied")
                before = v.numpy()
                for call in (v.assign, v.assign_add, v.assign_sub, lambda x: tf.assign(v, x), lambda x: tf.assign_add(v, x), tf.Variable):
                    with tf.device(here):
                        found, result = self.outcome(name, lambda: call(far))
                    self.assertEqual(found, self.expected(name, dtype))
                    if result is not None:
                        self.assertEqual(result.device, full(here))
                    else:
                        np.testing.assert_array_equal(v.numpy(), before)

    def test_variables_of_what_stays_on_the_cpu(self):
        for name in POLICIES:
            text = tf.constant(["a", "b"])
            found, v = self.outcome(name, lambda: tf.Variable(text))
            self.assertEqual((found, v.device), ("copied", CPU))
            self.assertEqual(self.outcome(name, lambda: v.assign(text))[0], "copied")

    def test_training_passes_where_all_is_on_one_device(self):
        for name in ("explicit", "silent_for_int32"):
            for optimizer in (tf.keras.optimizers.Adam(.1, global_clipnorm=1.), tf.keras.optimizers.Lamb(.1),
                              tf.keras.optimizers.Adafactor(.1), tf.train.MomentumOptimizer(.1, .9), tf.train.AdamOptimizer(.1)):
                with self.subTest(f"{name} {type(optimizer).__name__}"), policy(name):
                    w, x = tf.Variable([[1., 2.], [3., 4.]]), tf.constant([[1., -1.]])
                    for _ in range(3):
                        with tf.GradientTape() as tape:
                            loss = tf.reduce_mean(tf.matmul(x, w) ** 2) + .1 * tf.norm(w, 3)
                        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
                    self.assertEqual(w.device, GPU)

    def test_the_policy_of_the_program_holds_for_its_threads(self):
        x, y = placed([1., 2.], "float32", "/cpu:0"), placed([1., 2.], "float32", "/gpu:0")
        self.addCleanup(tfe.enable_eager_execution, device_policy=tfe.DEVICE_PLACEMENT_SILENT)
        for name, number in POLICIES.items():
            tfe.enable_eager_execution(device_policy=number)
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(in_thread(lambda: is_refused(lambda: x + y)), name in ("explicit", "silent_for_int32"))


if __name__ == "__main__":
    unittest.main()
