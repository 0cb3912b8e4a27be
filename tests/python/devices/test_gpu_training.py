"""Variables, gradients, optimisers, checkpoints and data sets on GPUs."""
import gc
import os
import tempfile
import unittest

import numpy as np

from device_names import CPU, GPU
import tapedeck as tf
from gpus import emulated, OnGpus, setUpModule  # noqa: F401
from graph_mode import graphs


class Forked(OnGpus):
    def test_a_forked_process_is_told_to_begin_anew(self):
        if emulated():
            self.skipTest("needs a real GPU: emulated ones do not mind")
        tf.ones([3]).numpy()
        ends = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                tf.ones([3]) + tf.ones([3])
            except tf.errors.InternalError as error:
                os.write(ends[1], str(error).encode())
            finally:
                os._exit(0)
        os.close(ends[1])
        with os.fdopen(ends[0], "rb") as told:
            self.assertIn(b"a process that was forked from one that has GPUs cannot use them; start it anew", told.read())
        os.waitpid(child, 0)


class Training(OnGpus):
    def test_a_saved_model_comes_back_to_the_device(self):
        module = tf.Module()
        module.w, module.words = tf.Variable([[1., 2.], [3., 4.]]), tf.Variable(["a"])
        shift = tf.constant([1., 0.])
        module.f = tf.function(lambda x: tf.matmul(x, module.w) + shift, input_signature=[tf.TensorSpec([None, 2])])
        x = tf.constant([[1., -1.]])
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(module, folder)
            again = tf.saved_model.load(folder)
            with tf.device("/cpu:0"):
                there = tf.saved_model.load(folder)
        self.assertEqual((again.w.device, there.w.device, again.words.device), (GPU, CPU, CPU))
        with tf.GradientTape() as tape:
            y = again.f(x)
        self.assertEqual((y.device, y.numpy().tolist()), (GPU, module.f(x).numpy().tolist()))
        self.assertEqual(tape.gradient(y, again.w).numpy().tolist(), [[1, 1], [-1, -1]])

    def test_lists_beside_tensors_of_a_trace(self):
        w = tf.Variable([[1., 2.], [3., 4.]])
        x = tf.constant([[1., -1.], [2., 2.]])
        functions = (lambda x: tf.matmul(x, w) + [1., 0.], lambda x: [[1.], [0.]] * x, lambda x: tf.where(x > [0., 3.], x, [5., 6.]),
                     lambda x: tf.concat([x, [[7., 8.]]], 0))
        with graphs():
            for function in functions:
                for signature in (None, [tf.TensorSpec([None, 2])]):
                    found = tf.function(function, input_signature=signature)(x)
                    self.assertEqual((found.device, found.numpy().tolist()), (GPU, function(x).numpy().tolist()))
            with tf.device("/cpu:0"):
                here = tf.function(lambda x: x + [1., 0.])(x.cpu())
        self.assertEqual((here.device, here.numpy().tolist()), (CPU, [[2., -1.], [3., 2.]]))

    def test_variables_stay_on_their_device(self):
        variable = tf.Variable(tf.constant([1., 2.]))
        variable.assign(tf.constant([3., 4.]).cpu())
        self.assertEqual((variable.device, variable.numpy().tolist()), (GPU, [3., 4.]))
        variable.assign_add([1., 1.])
        with tf.device("/cpu:0"):
            variable.assign_sub([2., 2.])
            here = tf.Variable(tf.constant([1.]).gpu())
        self.assertEqual((variable.device, variable.numpy().tolist()), (GPU, [2., 3.]))
        self.assertEqual(here.device, CPU)
        here.assign(tf.constant([5.]))
        self.assertEqual((here.device, here.numpy().tolist()), (CPU, [5.]))

    def test_memory_returns_the_moment_a_variable_goes(self):
        bytes_of = tf.config.experimental.get_memory_info
        gc.collect()
        before = bytes_of("GPU:0")["current"]
        variable = tf.Variable(tf.zeros([1 << 20]))
        self.assertGreaterEqual(bytes_of("GPU:0")["current"], before + (4 << 20))
        del variable
        self.assertLess(bytes_of("GPU:0")["current"], before + (4 << 20))
        tf.config.experimental.reset_memory_stats("GPU:0")
        info = bytes_of("GPU:0")
        self.assertLess(info["peak"], info["current"] + (4 << 20))

    def test_gradients_cross_devices(self):
        w = tf.Variable([[1., 2.], [3., 4.]])
        x = tf.constant([[1., -1.]]).cpu()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.matmul(x, w) ** 2.)
        self.assertEqual(y.device, GPU)
        dx, dw = tape.gradient(y, [x, w])
        self.assertEqual((dx.device, dw.device), (CPU, GPU))
        self.assertEqual(dx.numpy().tolist(), [[-12., -28.]])
        self.assertEqual(dw.numpy().tolist(), [[-4., -4.], [4., 4.]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x)
        self.assertEqual(tape.gradient(y, x).device, CPU)

    def test_a_model_trains_there(self):
        x = tf.constant(np.random.RandomState(1).randn(32, 3).astype(np.float32))
        y = tf.matmul(x, [[1.], [-2.], [3.]])
        for optimizer in (tf.keras.optimizers.Adam(0.1), tf.train.MomentumOptimizer(0.01, 0.9)):
            w = tf.Variable(tf.zeros([3, 1]))
            for _ in range(300):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2.)
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            self.assertEqual(w.device, GPU)
            np.testing.assert_allclose(w.numpy(), [[1.], [-2.], [3.]], atol=0.05)

    def test_checkpoints_hold_what_was_there(self):
        variable = tf.Variable([1., 2., 3.])
        with tempfile.TemporaryDirectory() as folder:
            path = tf.train.Checkpoint(v=variable).save(os.path.join(folder, "c"))
            variable.assign([0., 0., 0.])
            tf.train.Checkpoint(v=variable).restore(path)
        self.assertEqual((variable.device, variable.numpy().tolist()), (GPU, [1., 2., 3.]))

    def test_data_sets_stay_on_the_cpu(self):
        tf.config.run_functions_eagerly(True)  # a traced function sees tensors without a device
        self.addCleanup(tf.config.run_functions_eagerly, False)
        seen = []

        def double(x):
            seen.append((x.device, (x * 2.).device))
            return x * 2.

        dataset = tf.data.Dataset.from_tensor_slices(tf.constant([1., 2., 3., 4.])).map(double).batch(2).prefetch(1)
        batches = list(dataset)
        self.assertEqual([batch.numpy().tolist() for batch in batches], [[2., 4.], [6., 8.]])
        self.assertEqual({*seen, (batches[0].device, CPU)}, {(CPU, CPU)})

    def test_a_data_set_gives_its_elements_to_a_gpu_where_that_is_asked_for(self):
        dataset = tf.data.Dataset.from_tensor_slices(([1., 2., 3., 4.], ["a", "b", "c", "d"])).batch(2)
        for moved in (tf.data.experimental.copy_to_device("/gpu:0"), tf.data.experimental.prefetch_to_device("/gpu:0", 1)):
            found = [(numbers.device, numbers.numpy().tolist(), texts.device) for numbers, texts in dataset.apply(moved)]
            self.assertEqual(found, [(GPU, [1., 2.], CPU), (GPU, [3., 4.], CPU)])
        self.assertEqual(next(iter(dataset.apply(tf.data.experimental.copy_to_device(CPU))))[0].device, CPU)


if __name__ == "__main__":
    unittest.main()
