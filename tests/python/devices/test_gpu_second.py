"""The second GPU: tensors, variables, optimisers, gradients, copies and checkpoints on /gpu:1."""
import gc
import os
import tempfile
import unittest

import numpy as np

from device_names import CPU, full, GPU, SECOND_GPU
import tapedeck as tf
from gpus import GPUS, in_thread, OnGpus, setUpModule  # noqa: F401


@unittest.skipIf(GPUS == 1, "needs two GPUs")
class SecondGpu(OnGpus):
    def test_values_are_made_and_computed_with_there(self):
        with tf.device("/gpu:1"):
            for made in (tf.zeros([3]), tf.random.normal([3]), tf.constant([1., 2.]), tf.Variable([1.]), tf.constant([1.]) + [2.]):
                self.assertEqual(made.device, SECOND_GPU)
            x = tf.constant([[1., 2.], [3., 4.]])
        self.assertEqual([(x * 2.).device, tf.matmul(x, x).device, tf.reduce_sum(x).device, x[0].device], [SECOND_GPU] * 4)
        self.assertEqual(tf.matmul(x, x).numpy().tolist(), [[7., 10.], [15., 22.]])
        self.assertEqual((x + [[1., 1.]]).device, SECOND_GPU)
        self.assertEqual(tf.zeros([2]).device, GPU)

    def test_copies_between_gpus_keep_every_bit(self):
        for dtype in ("float32", "float64", "int32", "int64", "bool", "float16", "bfloat16", "uint8"):
            with self.subTest(dtype):
                first = tf.cast(tf.constant(np.arange(24.).reshape(2, 3, 4)), dtype)
                second = first.gpu(1)
                self.assertEqual((first.device, second.device, second.dtype), (GPU, SECOND_GPU, first.dtype))
                np.testing.assert_array_equal(tf.cast(second, tf.float64).numpy(), tf.cast(first, tf.float64).numpy())
                np.testing.assert_array_equal(tf.cast(tf.transpose(second).gpu(0), tf.float64).numpy(),
                                              tf.cast(tf.transpose(first), tf.float64).numpy())

    def test_the_first_gpu_of_the_inputs_decides(self):
        first, second, here = tf.constant([1., 2.]), tf.constant([3., 4.]).gpu(1), tf.constant([5., 6.]).cpu()
        for inputs, device in (((first, second), "/gpu:0"), ((second, first), "/gpu:1"), ((here, second, first), "/gpu:1")):
            total = tf.add_n(inputs)
            self.assertEqual(total.device, full(device))
            np.testing.assert_array_equal(total.numpy(), sum(each.numpy() for each in inputs))
        with tf.device("/gpu:1"):
            self.assertEqual((first + first).device, SECOND_GPU)

    def test_variables_and_their_memory_are_there(self):
        bytes_of = lambda device: tf.config.experimental.get_memory_info(device)["current"]  # noqa: E731
        gc.collect()
        before = [bytes_of("GPU:0"), bytes_of("GPU:1")]
        with tf.device("/gpu:1"):
            variable = tf.Variable(tf.zeros([1 << 18]))
        self.assertEqual(bytes_of("GPU:0"), before[0])
        self.assertGreaterEqual(bytes_of("GPU:1"), before[1] + (1 << 20))
        variable.assign(tf.ones([1 << 18]))
        variable.assign_add(tf.ones([1 << 18]).gpu(0))
        self.assertEqual((variable.device, float(tf.reduce_mean(variable))), (SECOND_GPU, 2.))
        del variable
        self.assertLess(bytes_of("GPU:1"), before[1] + (1 << 20))

    def test_gradients_cross_gpus(self):
        w = tf.Variable([[1., 2.], [3., 4.]])
        with tf.device("/gpu:1"):
            v = tf.Variable([[1.], [2.]])
        x = tf.constant([[1., -1.]]).cpu()
        with tf.GradientTape() as tape:
            tape.watch(x)
            middle = tf.matmul(x, w)
            y = tf.reduce_sum(tf.matmul(middle.gpu(1), v) ** 2.)
        self.assertEqual((middle.device, y.device), (GPU, SECOND_GPU))
        dx, dw, dv = tape.gradient(y, [x, w, v])
        self.assertEqual([dx.device, dw.device, dv.device], [CPU, GPU, SECOND_GPU])
        self.assertEqual(y.numpy(), 36.)
        self.assertEqual(dv.numpy().tolist(), [[24.], [24.]])
        self.assertEqual(dw.numpy().tolist(), [[-12., -24.], [12., 24.]])
        self.assertEqual(dx.numpy().tolist(), [[-60., -132.]])

    def trained(self, make, device):
        with tf.device(device):
            x = tf.constant(np.random.RandomState(1).randn(32, 3).astype(np.float32))
            y, w = tf.matmul(x, [[1.], [-2.], [3.]]), tf.Variable(tf.zeros([3, 1]))
        optimizer = make()
        for _ in range(20):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2.)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        self.assertEqual(w.device, full(device))
        own = optimizer.variables if isinstance(optimizer, tf.keras.optimizers.Optimizer) else optimizer.variables()
        self.assertEqual({slot.device for slot in own if slot.shape == w.shape} - {full(device)}, set())
        return w.numpy()

    def test_optimisers_work_beside_their_variables(self):
        for make in (lambda: tf.keras.optimizers.Adam(.1), lambda: tf.keras.optimizers.Lamb(.1), lambda: tf.keras.optimizers.SGD(.1, .9),
                     lambda: tf.keras.optimizers.Adam(.1, global_clipnorm=.5), lambda: tf.train.MomentumOptimizer(.01, .9),
                     lambda: tf.train.AdamOptimizer(.1)):
            np.testing.assert_allclose(self.trained(make, "/gpu:1"), self.trained(make, "/cpu:0"), rtol=1e-5)

    def test_one_optimiser_moves_variables_of_all_devices(self):
        variables = []
        for device in ("/cpu:0", "/gpu:0", "/gpu:1"):
            with tf.device(device):
                variables.append(tf.Variable([1., 2.]))
        optimizer = tf.keras.optimizers.Adam(.1, global_clipnorm=1.)
        optimizer.apply_gradients([(tf.constant([3., 4.]), variable) for variable in variables])
        self.assertEqual([variable.device for variable in variables], [CPU, GPU, SECOND_GPU])
        for variable in variables:
            np.testing.assert_allclose(variable.numpy(), [.9, 1.9], rtol=1e-5)

    def test_checkpoints_go_from_any_gpu_to_any(self):
        def state(device):
            with tf.device(device):
                model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
                model(tf.ones([1, 3]))
            return model, tf.keras.optimizers.Adam(.1)

        for source, target in (("/gpu:1", "/gpu:1"), ("/gpu:1", "/gpu:0"), ("/cpu:0", "/gpu:1"), ("/gpu:1", "/cpu:0")):
            with self.subTest(f"{source} to {target}"), tempfile.TemporaryDirectory() as folder:
                model, optimizer = state(source)
                optimizer.apply_gradients([(tf.ones_like(each), each) for each in model.trainable_variables])
                path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(os.path.join(folder, "c"))
                other, restored = state(target)
                tf.train.Checkpoint(model=other, optimizer=restored).restore(path)
                restored.apply_gradients([(tf.zeros_like(each), each) for each in other.trainable_variables])
                optimizer.apply_gradients([(tf.zeros_like(each), each) for each in model.trainable_variables])
                self.assertEqual({each.device for each in other.trainable_variables}, {full(target)})
                for own, found in zip(model.trainable_variables, other.trainable_variables):
                    np.testing.assert_allclose(found.numpy(), own.numpy(), rtol=1e-6)
                    np.testing.assert_allclose(restored.get_slot(found, "momentum").numpy(), optimizer.get_slot(own, "momentum").numpy(),
                                               rtol=1e-6)

    def test_random_numbers_are_those_of_any_device(self):
        drawn = []
        for device in ("/cpu:0", "/gpu:1"):
            tf.random.set_seed(7)
            with tf.device(device):
                values = tf.random.uniform([5]), tf.random.shuffle(tf.range(20)), tf.nn.dropout(tf.ones([20]), rate=.5)
                self.assertEqual({value.device for value in values}, {full(device)})
                drawn.append([value.numpy().tolist() for value in values])
        self.assertEqual(drawn[0], drawn[1])

    def test_threads_work_on_a_gpu_each(self):
        def sums(device):
            with tf.device(device):
                x = tf.constant(np.arange(100, dtype=np.float32))
                for _ in range(5):
                    x = x + 1.
                return x.device, float(tf.reduce_sum(x))

        with tf.device("/gpu:1"):
            self.assertEqual(in_thread(lambda: sums("/gpu:0")), (GPU, 5450.))
            self.assertEqual(sums("/gpu:1"), (SECOND_GPU, 5450.))


if __name__ == "__main__":
    unittest.main()
