"""tf.signal against NumPy's transforms and SciPy's, and gradients against differences."""
import itertools
import unittest

import numpy as np
import scipy.fft
import tapedeck as tf

random = np.random.default_rng(7)
shape = (2, 4, 6, 5)
z = random.normal(size=shape) + 1j * random.normal(size=shape)
x = random.normal(size=shape)


class Transforms(unittest.TestCase):
    def test_complex_ones(self):
        for axes, name in ((1, "fft"), (2, "fft2d"), (3, "fft3d")):
            where = tuple(range(-axes, 0))
            for dtype, tolerance in ((np.complex128, 1e-12), (np.complex64, 1e-5)):
                got = getattr(tf.signal, name)(z.astype(dtype))
                self.assertEqual(got.dtype, dtype)
                np.testing.assert_allclose(got.numpy(), np.fft.fftn(z, axes=where), rtol=tolerance, atol=tolerance * 30)
                back = getattr(tf.signal, "i" + name)(got)
                np.testing.assert_allclose(back.numpy(), z, rtol=tolerance, atol=tolerance)

    def test_any_extent(self):
        for count in (0, 1, 2, 3, 7, 8, 15, 31, 64, 101, 210):
            line = z.reshape(-1)[:count] if count <= z.size else None
            np.testing.assert_allclose(tf.signal.fft(line).numpy(), np.fft.fft(line) if count else line, rtol=1e-10, atol=1e-11)

    def test_lines_of_any_number_and_extent(self):
        """Several lines are transformed at once: each is what it is alone, to the last bit, whatever the others are."""
        for lines in (1, 2, 3, 5, 7, 16, 37):
            for count in (1, 2, 3, 4, 6, 8, 12, 20, 35, 49, 97, 256, 343, 1000):
                values = random.normal(size=(lines, count)) + 1j * random.normal(size=(lines, count))
                for dtype, tolerance in ((np.complex128, 1e-13), (np.complex64, 1e-5)):
                    a = values.astype(dtype)
                    scale = np.sqrt(count) * 10
                    for ours, numpys in ((tf.signal.fft, np.fft.fft), (tf.signal.ifft, np.fft.ifft)):
                        got = ours(a).numpy()
                        np.testing.assert_allclose(got, numpys(a), atol=tolerance * scale, rtol=0, err_msg=f"{lines} × {count}")
                        np.testing.assert_array_equal(got[-1], ours(a[-1]).numpy())
                    got = tf.signal.rfft(a.real).numpy()
                    np.testing.assert_allclose(got, np.fft.rfft(a.real), atol=tolerance * scale, rtol=0, err_msg=f"{lines} × {count}")
                    np.testing.assert_array_equal(got[-1], tf.signal.rfft(a.real[-1]).numpy())
        a = random.normal(size=(9, 16))
        a[4, 3], a[5] = np.nan, 1e-300
        got = tf.signal.rfft(a).numpy()
        self.assertTrue(np.isnan(got[4]).all())
        np.testing.assert_allclose(np.delete(got, [4, 5], 0), np.fft.rfft(np.delete(a, [4, 5], 0)), atol=1e-12)
        np.testing.assert_allclose(got[5, 1:], 0, atol=1e-310)

    def test_real_ones(self):
        for axes, name in ((1, "fft"), (2, "fft2d"), (3, "fft3d")):
            where = tuple(range(-axes, 0))
            for lengths in (None, [3, 7, 6][-axes:], [5, 4, 5][-axes:]):
                with self.subTest(name=name, lengths=lengths):
                    got = getattr(tf.signal, "r" + name)(x, lengths)
                    expected = np.fft.rfftn(x, lengths, axes=where)
                    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-11, atol=1e-11)
                    back = getattr(tf.signal, "ir" + name)(got, lengths)
                    np.testing.assert_allclose(back.numpy(), np.fft.irfftn(expected, lengths, axes=where), rtol=1e-11, atol=1e-11)
        self.assertEqual(tf.signal.rfft(x.astype(np.float32)).dtype, tf.complex64)
        self.assertEqual(tf.spectral.rfft(x).dtype, tf.complex128)
        np.testing.assert_allclose(tf.fft(z).numpy(), np.fft.fft(z), rtol=1e-11)

    def test_refusals(self):
        for call, kind, pattern in ((lambda: tf.signal.fft(x), TypeError, "fft: input is float64; needs complex"),
                                    (lambda: tf.signal.fft2d(z[0, 0, 0]), ValueError, r"input has shape \(5,\); needs at least 2 axes"),
                                    (lambda: tf.signal.rfft(z), TypeError, "rfft: input is complex128"),
                                    (lambda: tf.signal.irfft(x), TypeError, "irfft: input is float64"),
                                    (lambda: tf.signal.rfft(x, [0]), ValueError, r"rfft: fft_length is \[0\]"),
                                    (lambda: tf.signal.rfft2d(x, [3]), ValueError, r"rfft2d: fft_length is \[3\]; needs 2")):
            with self.assertRaisesRegex(kind, pattern):
                call()

    def test_shifts(self):
        for axes in (None, [0], [1, 3], 2):
            np.testing.assert_array_equal(tf.signal.fftshift(x, axes).numpy(), np.fft.fftshift(x, axes))
            np.testing.assert_array_equal(tf.signal.ifftshift(x, axes).numpy(), np.fft.ifftshift(x, axes))

    def test_cosine_transforms(self):
        for kind in (1, 2, 3, 4):
            for norm in (None, "ortho") if kind != 1 else (None,):
                np.testing.assert_allclose(tf.signal.dct(x, kind, norm=norm).numpy(), scipy.fft.dct(x, kind, norm=norm), rtol=1e-10,
                                           atol=1e-11)
        np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x, norm="ortho"), norm="ortho").numpy(), x, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(tf.signal.dct(x, n=8).numpy(), scipy.fft.dct(x, n=8), rtol=1e-10, atol=1e-11)
        for call in (lambda: tf.signal.dct(x, 5), lambda: tf.signal.dct(x, 1, norm="ortho"), lambda: tf.signal.dct(x, norm="x")):
            with self.assertRaises(ValueError):
                call()


class Frames(unittest.TestCase):
    def test_windows(self):
        for count in (1, 2, 5, 8):
            for name, a in (("hann_window", .5), ("hamming_window", .54)):
                period = count if count % 2 == 0 else count - 1
                expected = a - (1 - a) * np.cos(2 * np.pi * np.arange(count) / period) if count > 1 else np.ones(1)
                np.testing.assert_allclose(getattr(tf.signal, name)(count).numpy(), expected, atol=1e-6)
            symmetric = np.hanning(count)
            np.testing.assert_allclose(tf.signal.hann_window(count, periodic=False, dtype=tf.float64).numpy(), symmetric, atol=1e-12)
            np.testing.assert_allclose(tf.signal.kaiser_window(count, 8.).numpy(), np.kaiser(count, 8.), atol=1e-6)

    def test_frames(self):
        line = np.arange(10.)
        self.assertEqual(tf.signal.frame(line, 4, 3).numpy().tolist(), [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]])
        self.assertEqual(tf.signal.frame(line, 4, 4, pad_end=True, pad_value=-1.).numpy().tolist(),
                         [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, -1, -1]])
        self.assertEqual(tf.signal.frame(line, 11, 1).shape, (0, 11))
        self.assertEqual(tf.signal.frame(x, 2, 2, axis=1).shape, (2, 2, 2, 6, 5))
        for length, step, pad in itertools.product((1, 2, 3, 4, 6), (1, 2, 3), (False, True)):
            signal = random.normal(size=(2, 11, 3))
            count = -(-11 // step) if pad else 1 + (11 - length) // step
            longer = np.pad(signal, [(0, 0), (0, 10), (0, 0)])
            np.testing.assert_array_equal(tf.signal.frame(signal, length, step, pad, axis=1),
                                          np.stack([longer[:, i * step:i * step + length] for i in range(count)], 1))
        np.testing.assert_array_equal(tf.signal.overlap_and_add([[1., 2, 3], [4, 5, 6]], 2).numpy(), [1, 2, 7, 5, 6])
        with self.assertRaisesRegex(ValueError, "frame: frame_step is 0"):
            tf.signal.frame(line, 2, 0)

    def test_short_time_transforms(self):
        line = random.normal(size=(2, 200))
        got = tf.signal.stft(line, 32, 8, window_fn=tf.signal.hann_window)
        window = .5 - .5 * np.cos(2 * np.pi * np.arange(32) / 32)
        pieces = np.stack([line[:, i * 8:i * 8 + 32] * window for i in range((200 - 32) // 8 + 1)], 1)
        np.testing.assert_allclose(got.numpy(), np.fft.rfft(pieces), rtol=1e-6, atol=1e-6)
        back = tf.signal.inverse_stft(got, 32, 8, window_fn=tf.signal.inverse_stft_window_fn(8))
        np.testing.assert_allclose(back.numpy()[:, 32:-32], line[:, 32:200 - 32], rtol=1e-5, atol=1e-6)
        self.assertEqual(tf.signal.stft(line, 30, 8).shape, (2, 22, 17))


class Gradients(unittest.TestCase):
    def check(self, function, value):
        weights = np.random.default_rng(2)

        def loss(argument):
            out = function(argument)
            scale = np.random.default_rng(2).normal(size=[2, *out.shape])
            if out.dtype.is_complex:
                return tf.reduce_sum(tf.math.real(out) * scale[0] + tf.math.imag(out) * scale[1])
            return tf.reduce_sum(out * scale[0])

        t = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(t)
            result = loss(t)
        gradient = tape.gradient(result, t).numpy()
        for i in weights.integers(0, value.size, 6):
            for unit in (1., 1j) if np.iscomplexobj(value) else (1.,):
                step = np.zeros(value.size, value.dtype)
                step[i] = unit * 1e-6
                ends = [float(loss(tf.constant(value + sign * step.reshape(value.shape)))) for sign in (1, -1)]
                part = gradient.reshape(-1)[i]
                self.assertAlmostEqual(part.real if unit == 1. else part.imag, (ends[0] - ends[1]) / 2e-6, places=5)

    def test_of_every_transform(self):
        for name in ("fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d", "irfft", "irfft2d", "irfft3d"):
            with self.subTest(name=name):
                self.check(getattr(tf.signal, name), z)
        for name in ("rfft", "rfft2d", "rfft3d", "dct"):
            with self.subTest(name=name):
                self.check(getattr(tf.signal, name), x)
        self.check(lambda line: tf.signal.stft(line, 8, 3), random.normal(size=40))


if __name__ == "__main__":
    unittest.main()
