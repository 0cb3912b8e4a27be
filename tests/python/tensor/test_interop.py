"""NumPy, the buffer protocol and DLPack share memory with tensors or copy it, and none of them can write to a tensor."""
import ctypes
import gc
import os
import subprocess
import sys
import unittest
import zlib

import numpy as np

import tapedeck as tf

try:
    import torch
except ImportError:
    torch = None

values = np.arange(12, dtype=np.float32).reshape(3, 4)


def address_of(array):
    return np.asarray(array).__array_interface__["data"][0]


def write_through(capsule, name):
    """Adds 1 to the first element, a float32, as a library does that takes the capsule and looks at nothing else."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ctypes.cast(ctypes.cast(pointer(capsule, name), ctypes.POINTER(ctypes.c_void_p))[0], ctypes.POINTER(ctypes.c_float))[0] += 1


class NumPy(unittest.TestCase):
    def test_numpy_gives_an_array_of_its_own(self):
        tensor = tf.constant(values)
        array = tensor.numpy()
        array[0, 0] = 100
        self.assertEqual(float(tensor[0, 0]), 0.)
        self.assertIsInstance(tf.constant(3).numpy(), np.int32)
        self.assertIsInstance(tf.reduce_sum(tensor).numpy(), np.float32)

    def test_views_of_any_layout_hold_their_memory(self):
        whole = tf.constant(values)
        views = whole, tf.transpose(whole), whole[::-1, 1:3], whole[1:1], whole[2, 3], tf.broadcast_to(whole[0], [2, 4])
        expected = values, values.T, values[::-1, 1:3], values[1:1], values[2, 3], np.broadcast_to(values[0], (2, 4))
        arrays = [view.__array__() for view in views]
        del whole, views
        gc.collect()
        tf.zeros([3, 4]) + 7.  # would take the memory, were it free
        for array, wanted in zip(arrays, expected):
            np.testing.assert_array_equal(array, wanted)
            self.assertFalse(array.flags.writeable)
            with self.assertRaises(ValueError):
                array.flags.writeable = True

    def test_arrays_of_any_layout_are_taken(self):
        unaligned = np.frombuffer(bytes(49), np.uint8)[1:].view(np.float32)
        for array in (np.asfortranarray(values), values[::-1, ::2], values.astype(">f4"), unaligned, values[:0], np.float32(3.5),
                      np.array(3.5, np.float32), np.broadcast_to(np.float32(2), (3, 2))):
            tensor = tf.constant(array)
            self.assertEqual(tensor.dtype, tf.float32)
            self.assertEqual(tensor.shape, array.shape)
            np.testing.assert_array_equal(tensor.numpy(), array)
        for array, wanted in ((np.arange(5.), tf.float16), (np.arange(5), tf.complex128), (values > 3, tf.bool),
                              (np.arange(5, dtype=">u2"), tf.int32)):
            tensor = tf.constant(array, wanted)
            self.assertEqual(tensor.dtype, wanted)
            np.testing.assert_array_equal(tensor.numpy(), array)
        for refused in (np.zeros(2, "datetime64[s]"), np.zeros(2, [("a", "f4")]), np.zeros(2, np.longdouble)):
            with self.assertRaisesRegex(TypeError, "has no tensor dtype"):
                tf.constant(refused)
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # older ones have no more axes than tensors have
            with self.assertRaisesRegex(ValueError, "33 axes; tensors have at most 32"):
                tf.constant(np.zeros([1] * 33))

    def test_nothing_is_tied_to_one_version_of_numpy(self):
        with open(tf._engine.__file__, "rb") as module:
            self.assertNotIn(b"_ARRAY_API", module.read())

    @unittest.skipUnless(os.environ.get("TAPEDECK_OTHER_NUMPY"), "needs TAPEDECK_OTHER_NUMPY, a folder with another version of NumPy")
    def test_another_version_of_numpy_does_as_well(self):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([os.environ["TAPEDECK_OTHER_NUMPY"], *sys.path]))
        del environment["TAPEDECK_OTHER_NUMPY"]
        for test in "test_interop", "test_complex", "test_strings":
            run = subprocess.run([sys.executable, "-m", "unittest", test], env=environment, cwd=os.path.dirname(__file__),
                                 capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_asarray_shares_and_is_read_only(self):
        tensor = tf.constant(values)
        array = np.asarray(tensor)
        self.assertEqual(array.__array_interface__["data"], np.asarray(tensor).__array_interface__["data"])
        with self.assertRaises(ValueError):
            array[0, 0] = 1
        with self.assertRaises(ValueError):
            array.flags.writeable = True
        del tensor
        np.testing.assert_array_equal(array, values)
        self.assertEqual(np.asarray(tf.constant(values), np.float64).dtype, np.float64)
        self.assertTrue(np.array(tf.constant(values)).flags.writeable)

    def test_constants_share_what_nobody_can_write_to(self):
        def address(array):
            return np.asarray(array).__array_interface__["data"][0]

        frozen = np.arange(1000.)
        frozen.flags.writeable = False
        self.assertEqual(address(tf.constant(frozen)), address(frozen))
        tensor = tf.constant(values)
        self.assertEqual(address(tf.constant(np.asarray(tensor))), address(tensor))
        # Other references can still write to these.
        writable, raw = np.arange(1000.), bytearray(8000)
        view = writable[:]
        view.flags.writeable = False
        tensors = [tf.constant(array) for array in (writable, view, np.broadcast_to(writable, (2, 1000)),
                                                    np.frombuffer(memoryview(raw).toreadonly()))]
        writable[:] = 5
        raw[:8] = b"x" * 8
        self.assertEqual([float(tf.reshape(tensor, [-1])[0]) for tensor in tensors], [0., 0., 0., 0.])

    def test_strided_views_arrive_as_they_are(self):
        tensor = tf.transpose(tf.constant(values))[::-1]
        np.testing.assert_array_equal(np.asarray(tensor), values.T[::-1])
        np.testing.assert_array_equal(tensor.numpy(), values.T[::-1])
        np.testing.assert_array_equal(np.asarray(tf.zeros([0, 3])), np.zeros([0, 3]))

    def test_numpy_functions_take_tensors(self):
        tensor = tf.constant(values)
        np.testing.assert_array_equal(np.add(values, tensor), values + values)
        np.testing.assert_allclose(np.exp(tensor), np.exp(values))
        self.assertTrue(np.allclose(tensor, values))
        np.testing.assert_array_equal(np.stack([tensor, tensor]), np.stack([values, values]))
        np.testing.assert_array_equal(np.asarray(tf.Variable(values)), values)

    def test_operators_with_arrays_give_tensors(self):
        tensor = tf.constant(values)
        for result in (values * tensor, tensor * values, np.float32(2) * tensor, np.array(2., np.float32) * tensor,
                       tf.Variable(values) * values, values * tf.Variable(values)):
            self.assertIsInstance(result, tf.Tensor)
        np.testing.assert_array_equal((values - tensor * 2).numpy(), -values)
        self.assertEqual((tensor * np.ones(4)).dtype, tf.float32)


class Buffers(unittest.TestCase):
    def test_a_memoryview_shows_every_dtype(self):
        for dtype in (np.bool_, np.int32, np.int64, np.float32, np.float64):
            view = memoryview(tf.constant(values.astype(dtype)))
            self.assertTrue(view.readonly)
            self.assertEqual((view.shape, view.strides, view.itemsize), ((3, 4), (4 * view.itemsize, view.itemsize), view.itemsize))
            self.assertEqual(view.tolist(), values.astype(dtype).tolist())
            self.assertEqual(bytes(view), values.astype(dtype).tobytes())

    def test_strided_tensors_have_strided_views_and_no_flat_ones(self):
        tensor = tf.transpose(tf.constant(values))
        view = memoryview(tensor)
        self.assertEqual((view.shape, view.f_contiguous, view.c_contiguous), ((4, 3), True, False))
        self.assertEqual(view.tobytes(), values.T.tobytes())
        with self.assertRaises(BufferError):
            zlib.crc32(tf.constant(values)[:, ::2])
        self.assertEqual(zlib.crc32(tf.constant(values)), zlib.crc32(values.tobytes()))
        with self.assertRaises((BufferError, TypeError)):
            memoryview(tf.constant(values)).cast("B")[0] = 1

    def test_nobody_gets_a_writable_buffer(self):
        import io
        with self.assertRaises((BufferError, TypeError)):
            io.BytesIO(b"12345678").readinto(tf.constant(values))

    def test_a_scalars_view(self):
        view = memoryview(tf.constant(2.5))
        self.assertEqual((view.ndim, view.tolist()), (0, 2.5))


class DLPack(unittest.TestCase):
    def test_numpy_reads_a_tensor(self):
        tensor = tf.constant(values)
        array = np.from_dlpack(tensor)
        np.testing.assert_array_equal(array, values)
        np.testing.assert_array_equal(np.from_dlpack(tf.transpose(tensor)), values.T)
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))

    def test_a_tensor_reads_numpy_and_itself(self):
        array = np.arange(6, dtype=np.float64).reshape(2, 3)
        tensor = tf.experimental.dlpack.from_dlpack(array)
        np.testing.assert_array_equal(tensor.numpy(), array)
        self.assertEqual(np.asarray(tensor).__array_interface__["data"][0], array.__array_interface__["data"][0])
        reversed_columns = tf.experimental.dlpack.from_dlpack(array[:, ::-1])
        np.testing.assert_array_equal(reversed_columns.numpy(), array[:, ::-1])
        for source in (tf.constant(values), tf.transpose(tf.constant(values)), tf.constant([True, False]), tf.constant(3)):
            shared = tf.experimental.dlpack.from_dlpack(source)
            copied = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(source))
            for again, is_shared in ((shared, True), (copied, False)):
                self.assertEqual(again.dtype, source.dtype)
                np.testing.assert_array_equal(again.numpy(), source.numpy())
                self.assertEqual(address_of(again) == address_of(source), is_shared)

    def test_nobody_can_write_to_a_tensor_or_variable(self):
        variable, tensor = tf.Variable([1., 2.]), tf.constant([1., 2.])
        for source in (variable, tensor, variable.read_value(), tensor[:1]):
            for capsule in (source.__dlpack__(), source.__dlpack__(max_version=None), source.__dlpack__(max_version=(0, 8)),
                            source.__dlpack__(copy=True), tf.experimental.dlpack.to_dlpack(source)):
                write_through(capsule, b"dltensor")
            with self.assertRaisesRegex(BufferError, "__dlpack__: copy is False, but a tensor's memory is read only"):
                source.__dlpack__(copy=False)
            array = np.from_dlpack(source)
            try:
                array.flags.writeable = True
                array[:] = 100.
            except ValueError:
                pass  # NumPy before 2.1 never lets anybody write
            for shared in (np.asarray(source), np.asarray(memoryview(source if source is not variable else source.value()))):
                with self.assertRaises(ValueError):
                    shared.flags.writeable = True
            source.numpy()[:] = 100.
        self.assertEqual((variable.numpy().tolist(), tensor.numpy().tolist()), ([1., 2.], [1., 2.]))

    @unittest.skipUnless(torch, "needs PyTorch (python3-torch)")
    def test_pytorch_cannot_write_to_a_tensor_or_variable(self):
        variable, tensor = tf.Variable([1., 2.]), tf.constant([1., 2.])
        for source in (variable, tensor):
            there = torch.from_dlpack(source)
            there += 1
            self.assertEqual(there.tolist(), [2., 3.])
            again = torch.utils.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(source))
            again += 1
        self.assertEqual((variable.numpy().tolist(), tensor.numpy().tolist()), ([1., 2.], [1., 2.]))

    @unittest.skipUnless(torch, "needs PyTorch (python3-torch)")
    def test_pytorch_reads_tensors_and_is_read(self):
        for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.uint8, tf.int8, tf.int16, tf.int32, tf.int64):
            tensor = tf.transpose(tf.constant([[0, 1, 2], [3, 4, 5]], dtype))
            there = torch.from_dlpack(tensor)
            self.assertEqual(there.tolist(), [[0, 3], [1, 4], [2, 5]])
            back = tf.experimental.dlpack.from_dlpack(there)
            self.assertEqual(back.dtype, dtype)
            self.assertEqual(tf.cast(back, tf.float64).numpy().tolist(), there.tolist())
        single = torch.arange(6.).reshape(2, 3)
        tensor = tf.experimental.dlpack.from_dlpack(single.t())
        self.assertEqual(np.asarray(tensor).__array_interface__["data"][0], single.data_ptr())
        del single
        gc.collect()
        np.testing.assert_array_equal(tensor.numpy(), np.arange(6.).reshape(2, 3).T)
        there = torch.from_dlpack(tf.fill([3], 7.))
        self.assertEqual((tf.fill([3], 1.) + 1.).numpy().tolist(), [2., 2., 2.])  # the tensor is gone, its memory is not
        self.assertEqual(there.tolist(), [7., 7., 7.])
        self.assertEqual((torch.from_dlpack(tf.constant(3.)).item(), torch.from_dlpack(tf.zeros([0, 3])).shape), (3., (0, 3)))

    def test_the_memory_lives_as_long_as_its_readers(self):
        array = np.from_dlpack(tf.constant(values))
        tensor = tf.experimental.dlpack.from_dlpack(values.copy())
        for _ in range(20):
            tf.fill([3, 4], -1.) + 1.
        np.testing.assert_array_equal(array, values)
        np.testing.assert_array_equal(tensor.numpy(), values)

    def test_versioned_capsules_say_that_tensors_are_read_only(self):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        for source in (tf.constant(values), tf.transpose(tf.constant(values)), tf.constant(3, tf.int8), tf.zeros([0, 2]),
                       tf.Variable([1., 2.])):
            own = np.asarray(source)
            for copy, flags in ((None, 2), (False, 1), (True, 2), (np.True_, 2), (1, 2)):
                capsule = source.__dlpack__(stream=None, max_version=(1, 2), dl_device=(1, 0), copy=copy)
                # The struct begins with the version, two numbers of 32 bits; the flags follow two pointers.
                words = ctypes.cast(pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(ctypes.c_uint32))
                self.assertEqual((words[0], words[1], words[6]), (1, 0, flags))
                again = tf.experimental.dlpack.from_dlpack(capsule)
                np.testing.assert_array_equal(again.numpy(), own)
                if own.size:
                    address = np.asarray(again).__array_interface__["data"][0]
                    self.assertEqual(address == own.__array_interface__["data"][0], flags == 1)
                with self.assertRaisesRegex(ValueError, "not an unused DLPack capsule"):
                    tf.experimental.dlpack.from_dlpack(capsule)
            self.assertIn('"dltensor"', repr(source.__dlpack__(max_version=(0, 8))))
            del capsule
            source.__dlpack__(max_version=(1, 0))  # never consumed
        tensor = tf.constant([1.])
        with self.assertRaisesRegex(TypeError, "__dlpack__: copy is 'yes'; needs True, False or None"):
            tensor.__dlpack__(copy="yes")
        with self.assertRaisesRegex(BufferError, r"__dlpack__: dl_device is \(2, 0\); the tensor is on \(1, 0\), the CPU"):
            tensor.__dlpack__(dl_device=(2, 0))
        for version in (1, (1,), ("a", 0), (2**70, 0)):
            with self.assertRaisesRegex(TypeError, "__dlpack__: max_version is .*; needs"):
                tensor.__dlpack__(max_version=version)

    def test_capsules_are_used_once_and_checked(self):
        capsule = tf.experimental.dlpack.to_dlpack(tf.constant(values))
        tf.experimental.dlpack.from_dlpack(capsule)
        with self.assertRaisesRegex(ValueError, "not an unused DLPack capsule"):
            tf.experimental.dlpack.from_dlpack(capsule)
        with self.assertRaisesRegex(ValueError, "not an unused DLPack capsule"):
            tf.experimental.dlpack.from_dlpack(5)
        with self.assertRaisesRegex(TypeError, "type code 4 of 16 bits and 1 lanes|has no strings"):
            tf.experimental.dlpack.to_dlpack(tf.constant(["a"]))


if __name__ == "__main__":
    unittest.main()
