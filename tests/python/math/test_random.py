"""Random numbers: seeds, distributions against SciPy's, generators, stateless functions."""
import copy
import pickle
import sys
import threading
import unittest

import numpy as np
from scipy import stats

import tapedeck as tf


class Seeds(unittest.TestCase):
    def tearDown(self):
        tf.random.set_seed(None)

    def draws(self):
        return [tf.random.uniform([3]), tf.random.shuffle(tf.range(50)), tf.random.categorical(tf.zeros([2, 9]), 20, seed=3),
                tf.random.gamma([4], [.5, 2.], seed=1), tf.random_normal([2]), tf.random.bernoulli([30])]

    def test_a_seed_gives_the_same_numbers_again(self):
        tf.random.set_seed(7)
        first, second = self.draws(), self.draws()
        tf.set_random_seed(7)
        for one, two, again in zip(first, second, self.draws()):
            np.testing.assert_array_equal(one.numpy(), again.numpy())
            self.assertFalse(np.array_equal(one.numpy(), two.numpy()))

    def test_the_number_of_threads_changes_nothing(self):
        threads = tf.config.threading.get_intra_op_parallelism_threads() or 2
        results = []
        for count in (1, 2, 3):
            tf.config.threading.set_intra_op_parallelism_threads(count)
            tf.random.set_seed(7)
            results.append([tf.random.gamma([30000], .7).numpy(), tf.random.categorical(tf.zeros([3, 50]), 20000).numpy(),
                            tf.random.shuffle(tf.range(100000)).numpy(), tf.random.uniform([100000]).numpy()])
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        for other in results[1:]:
            for one, again in zip(results[0], other):
                np.testing.assert_array_equal(one, again)


class Distributions(unittest.TestCase):
    def setUp(self):
        tf.random.set_seed(11)

    def tearDown(self):
        tf.random.set_seed(None)

    def follows(self, values, distribution):
        self.assertGreater(stats.kstest(np.asarray(values, np.float64).ravel(), distribution.cdf).pvalue, 1e-4)

    def test_binomial(self):
        for count, p in ((1, .3), (20, .05), (40, .5), (19, .9), (200, .04999), (200, .05), (1000, .97), (3e6, .4), (1e15, 1e-14)):
            values = tf.random.stateless_binomial([40000], [1, 2], count, tf.constant(p, tf.float64), tf.float64).numpy()
            np.testing.assert_array_equal(values, np.floor(values))
            self.assertTrue(0 <= values.min() and values.max() <= count)
            binomial = stats.binom(int(count), p)
            edges = np.unique(binomial.ppf(np.linspace(.05, .95, 19)))
            expected = np.diff(np.concatenate([[0], binomial.cdf(edges), [1]])) * values.size
            found = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)[expected > 0]
            self.assertGreater(stats.chisquare(found, expected[expected > 0]).pvalue, 1e-4, (count, p))
        edges = tf.random.stateless_binomial([3, 4], [1, 2], [0, 7, 7, 9], [.5, 0., 1., 1.])
        self.assertEqual((edges.dtype, edges.numpy().tolist()), (tf.int32, [[0, 0, 7, 9]] * 3))
        generator, again = (tf.random.Generator.from_seed(4) for _ in range(2))
        first = generator.binomial([5, 2], [[10.]], [.2, .7], tf.int64)
        self.assertEqual((first.dtype, first.shape), (tf.int64, (5, 2)))
        np.testing.assert_array_equal(first.numpy(), again.binomial([5, 2], 10, [.2, .7]).numpy())
        self.assertFalse(np.array_equal(generator.binomial([50], 100, .5).numpy(), generator.binomial([50], 100, .5).numpy()))
        for counts, probs, pattern in ((-1, .5, "counts holds -1; needs whole"), (2.5, .5, "counts holds 2.5"), (3, 1.5, "probs holds 1.5"),
                                       (3, float("nan"), "probs holds nan"), ([1, 2, 3], .5, "broadcast")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                tf.random.stateless_binomial([2], [1, 2], counts, probs)

    def test_whole_numbers_of_random_bits(self):
        generator = tf.random.Generator.from_seed(9)
        for dtype, bits in ((tf.int32, 32), (tf.uint32, 32), (tf.int64, 64), (tf.uint64, 64)):
            values = generator.uniform_full_int([2000], dtype)
            self.assertEqual((values.dtype, values.shape), (dtype, (2000,)))
            words = values.numpy().astype(np.uint64)
            for bit in range(bits):
                self.assertLess(abs(int((words >> np.uint64(bit) & np.uint64(1)).sum()) - 1000), 150, (dtype, bit))
        seeds = generator.make_seeds(3)
        self.assertEqual((seeds.dtype, seeds.shape, seeds.numpy()[1].tolist()), (tf.int64, (2, 3), [0, 0, 0]))
        self.assertEqual(len(set(seeds.numpy()[0].tolist()) | set(generator.make_seeds().numpy()[0].tolist())), 4)
        numbers = [tf.random.stateless_normal([4], seeds[:, i]).numpy() for i in range(3)]
        self.assertFalse(np.array_equal(numbers[0], numbers[1]))
        with self.assertRaisesRegex(TypeError, "uniform_full_int: dtype is float32"):
            generator.uniform_full_int([1], tf.float32)

    def test_poisson(self):
        for lam in (.3, 4., 9.99, 10., 37., 2000., 3e6):
            values = tf.random.poisson([40000], lam, dtype=tf.float64).numpy()
            np.testing.assert_array_equal(values, np.floor(values))
            poisson = stats.poisson(lam)
            # The numbers sorted into some twenty ranges of about equal probability.
            edges = np.unique(poisson.ppf(np.linspace(.05, .95, 19)))
            expected = np.diff(np.concatenate([[0], poisson.cdf(edges), [1]])) * values.size
            found = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
            self.assertGreater(stats.chisquare(found, expected).pvalue, 1e-4, lam)
        self.assertEqual(tf.random.poisson([10], [[0.], [50.]]).shape, (10, 2, 1))
        np.testing.assert_array_equal(tf.random.poisson([100], 0.).numpy(), np.zeros(100))
        for dtype in (tf.int32, tf.int64, tf.float16, tf.uint8):
            result = tf.random.poisson([2000], 7, dtype)
            self.assertEqual(result.dtype, dtype)
            self.assertAlmostEqual(float(np.mean(result.numpy().astype(float))), 7, delta=.4)
        np.testing.assert_array_equal(tf.random.poisson([5], 1e6, tf.uint8).numpy(), np.full(5, 255))
        np.testing.assert_array_equal(tf.random.poisson([5], 1e12, tf.int32).numpy(), np.full(5, 2**31 - 1))
        for lam in (-1., np.nan, np.inf):
            with self.assertRaisesRegex(ValueError, "random_poisson: lam holds .*; needs finite numbers of at least 0"):
                tf.random.poisson([2], lam)
        with self.assertRaisesRegex(TypeError, "random_poisson: dtype is bool"):
            tf.random.poisson([2], 1., tf.bool)

    def test_poisson_by_other_names_and_without_state(self):
        tf.random.set_seed(3)
        first = tf.random.poisson([4], [1., 20.], seed=5).numpy()
        tf.random.set_seed(3)
        np.testing.assert_array_equal(tf.random_poisson([1., 20.], [4], seed=5).numpy(), first)
        draw = [tf.random.stateless_poisson([3, 2], seed=[1, 2], lam=[5., 50.]).numpy() for _ in range(2)]
        np.testing.assert_array_equal(draw[0], draw[1])
        self.assertEqual((draw[0].shape, draw[0].dtype), ((3, 2), np.int32))

    def test_gamma(self):
        for alpha in (.05, .5, 1., 2.5, 300.):
            for dtype in (tf.float32, tf.float64):
                self.follows(tf.random.gamma([20000], alpha, dtype=dtype), stats.gamma(alpha))
        both = tf.random_gamma([5000], [[1.], [4.]], [2., .5, 1.])
        self.assertEqual(both.shape, (5000, 2, 3))
        for i, alpha in enumerate((1., 4.)):
            for j, beta in enumerate((2., .5, 1.)):
                self.follows(both[:, i, j], stats.gamma(alpha, scale=1 / beta))
        self.assertTrue(np.all(tf.random.gamma([1000], 1e-4).numpy() > 0))
        for alpha in (0., -1., np.nan, np.inf):
            with self.assertRaisesRegex(ValueError, "random_gamma: alpha holds"):
                tf.random.gamma([1], alpha)

    def test_gammas_gradient_with_respect_to_beta(self):
        beta = tf.Variable([2., 3.])
        with tf.GradientTape() as tape:
            values = tf.random.gamma([5], 2., beta)
            total = tf.reduce_sum(values)
        np.testing.assert_allclose(tape.gradient(total, beta).numpy(), -(values / beta).numpy().sum(0), rtol=1e-5)

    def test_gammas_gradient_is_that_of_its_quantile(self):
        # Implicitly: the number of the distribution function's same value moves with alpha.
        alpha, beta = np.array([[.05], [.7], [3.], [40.], [20000.]]), np.array([1., 3.])
        variable = tf.constant(alpha)
        with tf.GradientTape() as outer:
            outer.watch(variable)
            with tf.GradientTape() as tape:
                tape.watch(variable)
                values = tf.random.gamma([500], variable, beta, tf.float64)
            first = tape.gradient(values, variable)
        second = outer.gradient(first, variable)
        shares = stats.gamma.cdf(values.numpy() * beta, alpha)
        inside = (shares > 1e-12) & (shares < 1 - 1e-12)

        def quantiles(factor):
            return np.where(inside, stats.gamma.ppf(shares, alpha * factor) / beta, 0).sum((0, 2))

        self.assertGreater(inside.mean(), .8)
        step = 1e-4
        slopes = (quantiles(1 + step) - quantiles(1 - step)) / (2 * step * alpha.ravel())
        np.testing.assert_allclose(first.numpy().ravel(), slopes, rtol=2e-6)
        step = 1e-3
        curves = (quantiles(1 + step) - 2 * quantiles(1) + quantiles(1 - step)) / (step * alpha.ravel())**2
        np.testing.assert_allclose(second.numpy().ravel()[1:4], curves[1:4], rtol=1e-4)

    def test_the_arguments_of_normal_and_uniform_may_be_tensors(self):
        mean, deviation = tf.Variable([1., 200.]), tf.Variable(3.)
        for draw in (tf.random.normal, tf.random.truncated_normal):
            with tf.GradientTape() as tape:
                values = draw([4000, 2], mean, deviation)
            by_mean, by_deviation = tape.gradient(values, [mean, deviation])
            np.testing.assert_array_equal(by_mean.numpy(), [4000, 4000])
            standard = (values - mean).numpy() / 3
            np.testing.assert_allclose(by_deviation.numpy(), standard.sum(), rtol=1e-3, atol=.1)
            np.testing.assert_allclose(values.numpy().mean(0), [1, 200], atol=.3)
        values = tf.random.uniform([4000, 2], mean, [3., 300.]).numpy()
        self.assertTrue((values >= [1, 200]).all() and (values <= [3, 300]).all())
        np.testing.assert_allclose(values.mean(0), [2, 250], rtol=.02)
        self.assertEqual(tf.random.uniform([3], tf.constant(2), tf.constant(3), tf.int32).numpy().tolist(), [2, 2, 2])
        self.assertEqual(tf.random.normal([2], dtype=tf.float16).dtype, tf.float16)
        with self.assertRaisesRegex(TypeError, "random_normal: dtype is float32, and an argument is float64"):
            tf.random.normal([2], tf.constant(1., tf.float64))

    def test_narrow_uniform_numbers_stay_below_maxval(self):
        for dtype in (tf.float16, tf.bfloat16):
            for low, high in ((0, 1), (-3, -1), (-1, 0), (5, 1000)):
                values = tf.cast(tf.random.uniform([100000], low, high, dtype), tf.float64).numpy()
                self.assertTrue(values.min() >= low and values.max() < high, (dtype, low, high, values.max()))
                self.assertAlmostEqual((values.mean() - low) / (high - low), .5, delta=.01)

    def test_uniform_numbers_of_a_range_that_overflows(self):
        for dtype, end in ((tf.float32, 3e38), (tf.float64, 1.5e308)):
            values = tf.random.uniform([20000], -end, end, dtype).numpy() / end
            self.assertTrue((np.abs(values) <= 1).all())
            self.assertAlmostEqual(values.mean(), 0, delta=.03)
            self.assertAlmostEqual(values.var(), 1 / 3, delta=.03)

    def test_normal_and_truncated(self):
        self.follows(tf.random.normal([20000], 1., 3.), stats.norm(1, 3))
        self.follows(tf.random.truncated_normal([20000], 1., 3.), stats.truncnorm(-2, 2, 1, 3))
        self.follows(tf.random.uniform([20000], -1, 4), stats.uniform(-1, 5))

    def test_categorical(self):
        logits = np.log(np.array([[.1, .2, .7], [.5, .5, 1e-300]])) + [[3.], [-50.]]
        drawn = tf.random.categorical(logits, 30000).numpy()
        for row, probabilities in zip(drawn, ([.1, .2, .7], [.5, .5, 0])):
            np.testing.assert_allclose(np.bincount(row, minlength=3) / 30000, probabilities, atol=.015)
        self.assertEqual(tf.multinomial([[0., 0.]], 5, output_dtype=tf.int32).dtype, tf.int32)
        self.assertEqual(set(tf.random.categorical([[-np.inf, 0., -np.inf]], 100).numpy().ravel()), {1})
        many = np.zeros((5000, 40))
        many[3001, 7] = many[4700, 2] = np.nan
        with self.assertRaisesRegex(ValueError, "row 3001 of logits"):  # the first, whichever thread finds it
            tf.random.categorical(many, 3)
        for bad in ([[np.nan, 0.]], [[np.inf, 0.]], [[-np.inf, -np.inf]], [0.], [[]]):
            with self.assertRaises(ValueError):
                tf.random.categorical(bad, 3)

    def test_shuffle_and_bernoulli(self):
        rows = np.arange(12.).reshape(6, 2)
        shuffled = tf.random.shuffle(rows).numpy()
        np.testing.assert_array_equal(np.sort(shuffled[:, 0]), rows[:, 0])
        np.testing.assert_array_equal(shuffled[:, 1] - shuffled[:, 0], np.ones(6))
        orders = np.array([tf.random.shuffle(tf.range(3)).numpy() for _ in range(3000)]) @ [9, 3, 1]
        self.assertEqual(len(set(orders)), 6)
        self.assertGreater(stats.chisquare(np.unique(orders, return_counts=True)[1]).pvalue, 1e-4)
        self.assertAlmostEqual(tf.random.bernoulli([20000], .3).numpy().mean(), .3, delta=.02)
        np.testing.assert_array_equal(tf.random.bernoulli([4, 2], [0., 1.]).numpy(), [[0, 1]] * 4)


class Crops(unittest.TestCase):
    def test_a_crop_is_a_part_and_every_place_comes(self):
        value = np.arange(12).reshape(3, 4)
        self.assertEqual(tf.image.random_crop(value, [3, 4]).numpy().tolist(), value.tolist())
        tf.random.set_seed(1)
        corners = set()
        for _ in range(200):
            part = tf.image.random_crop(value, tf.constant([2, 2])).numpy()
            corners.add(int(part[0, 0]))
            self.assertEqual((part - part[0, 0]).tolist(), [[0, 1], [4, 5]])
        self.assertEqual(corners, {0, 1, 2, 4, 5, 6})
        self.assertEqual(tf.random_crop(value, [1, 1], seed=4).shape, (1, 1))
        with self.assertRaisesRegex(ValueError, r"random_crop: size \[4, 1\] for value \(3, 4\)"):
            tf.random_crop(value, [4, 1])


class Generators(unittest.TestCase):
    def test_a_generator_goes_on_and_can_be_repeated(self):
        generator, again = tf.random.Generator.from_seed(5), tf.random.Generator.from_seed(5)
        first, second = generator.normal([4]).numpy(), generator.normal([4]).numpy()
        self.assertFalse(np.array_equal(first, second))
        np.testing.assert_array_equal(again.normal([4]).numpy(), first)
        copy = tf.random.Generator.from_state(again.state)
        np.testing.assert_array_equal(copy.uniform([3]).numpy(), again.uniform([3]).numpy())
        again.reset_from_seed(5)
        np.testing.assert_array_equal(again.normal([4]).numpy(), first)
        children = generator.split(2)
        self.assertFalse(np.array_equal(children[0].normal([4]).numpy(), children[1].normal([4]).numpy()))
        self.assertIs(tf.random.get_global_generator(), tf.random.get_global_generator())

    def test_a_generator_is_made_of_another_or_of_a_state(self):
        generator = tf.random.Generator.from_seed(5, alg="philox")
        generator.skip(3)
        self.assertEqual(generator.key.numpy(), generator.state.numpy()[0])
        copies = [tf.random.Generator(generator), tf.random.Generator(state=generator.state, alg="philox"), copy.deepcopy(generator),
                  pickle.loads(pickle.dumps(generator)), tf.random.experimental.Generator.from_seed(8)]
        copies[-1].reset(generator.state)
        first = generator.normal([3]).numpy()
        for each in copies:
            np.testing.assert_array_equal(each.normal([3]).numpy(), first)
        with self.assertRaisesRegex(ValueError, "Generator: needs either copy_from or state"):
            tf.random.Generator()
        for call, kind, pattern in (
                (lambda: tf.random.Generator(3), TypeError, "Generator: copy_from is 3"),
                (lambda: tf.random.Generator.from_state([1, 2, 3]), ValueError, r"from_state: state has shape \(3,\)"),
                (lambda: tf.random.Generator.from_seed(1.5), TypeError, "from_seed: seed: 1.5 is not an integer; called with seed: 1.5$"),
                (lambda: tf.random.Generator.from_seed(1, "dice"), ValueError, "from_seed: alg is 'dice'; must be"),
                (lambda: generator.reset([.5, 1.]), ValueError, r"reset: state has shape \(2,\) and dtype float64"),
                (lambda: generator.split(-1), ValueError, "split: count is -1"),
                (lambda: generator.split(2**70), MemoryError, "split: count is 1180591620717411303424; at most 1048576 generators"),
                (lambda: generator.uniform_full_int([-1]), ValueError, r"called with shape: \[-1\]$"),
                (lambda: generator.skip(.5), TypeError, "skip: .* delta: 0.5"),
                (lambda: tf.random.set_global_generator(3), TypeError, "set_global_generator: generator is 3"),
                (lambda: tf.random.set_seed(1.5), TypeError, "set_seed: .* seed: 1.5"),
                (lambda: tf.random.set_seed(2**64), ValueError, "set_seed: seed is 18446744073709551616; needs an integer of 64 bits")):
            with self.assertRaisesRegex(kind, pattern):
                call()

    def test_threads_that_share_a_generator_draw_different_numbers(self):
        generator, start, draws = tf.random.Generator.from_seed(5), threading.Barrier(4), []
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)  # seconds; threads meet within a draw

        def work():
            start.wait()
            for _ in range(200):
                draws.append(generator.uniform_full_int([300]).numpy().tobytes())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(draws)), 800)

    def test_a_shape_may_draw_from_the_generator_that_it_is_for(self):
        generator = tf.random.Generator.from_seed(5)

        class Extents:
            def __init__(self, draw):
                self.draw = draw

            def __array__(self, dtype=None, copy=None):
                self.draw()
                return np.array([2, 3])

        self.assertEqual(generator.uniform_full_int(Extents(lambda: generator.normal([2]))).shape, (2, 3))
        other = tf.random.Generator.from_seed(8)
        shape = Extents(lambda: other.normal([4]))
        for draw in (lambda shape: tf.random.Generator.from_seed(5).uniform_full_int(shape),
                     lambda shape: tf.random.stateless_uniform(shape, [1, 2], None, None, tf.int32)):
            np.testing.assert_array_equal(draw(shape).numpy(), draw([2, 3]).numpy())

    def test_seeds_are_made_of_seeds(self):
        seed = tf.constant([3, -4], tf.int64)
        seeds = tf.random.split(seed, 5)
        self.assertEqual((seeds.dtype, seeds.shape), (tf.int64, (5, 2)))
        np.testing.assert_array_equal(tf.random.experimental.stateless_split(seed, 5).numpy(), seeds.numpy())
        self.assertEqual((tf.random.split([3, 4]).dtype, tf.random.split([3, 4], (3, 2)).shape), (tf.int32, (3, 2, 2)))
        folded = [tf.random.fold_in(seed, number) for number in (7, 8, tf.constant(7, tf.int64))]
        self.assertEqual([(each.dtype, int(each[1])) for each in folded], [(tf.int32, 7), (tf.int32, 8), (tf.int64, 7)])
        draws = {tf.random.stateless_normal([4], each).numpy().tobytes() for each in (seed, *tf.unstack(seeds), *folded)}
        self.assertEqual(len(draws), 9)
        self.assertEqual(sorted(tf.random.experimental.stateless_shuffle(np.arange(9), [1, 2]).numpy()), list(range(9)))
        orders = [tf.random.experimental.stateless_shuffle(np.arange(9), each).numpy().tolist() for each in ([1, 2], [1, 2], [2, 1])]
        self.assertTrue(orders[0] == orders[1] != orders[2])
        for call, pattern in ((lambda: tf.random.split([1, 2, 3]), r"seed has shape \(3,\)"), (lambda: tf.random.split([1, 2], -1), "-1"),
                              (lambda: tf.random.split([1, 2], alg="dice"), "alg is 'dice'"),
                              (lambda: tf.random.split([1., 2.]), "split: seed is float32; needs two integers"),
                              (lambda: tf.random.fold_in([1, 2], .5), r"fold_in: data is float32 \(\); needs one integer")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                call()

    def test_stateless_functions_depend_on_their_arguments_alone(self):
        for function in (tf.random.stateless_uniform, tf.random.stateless_normal, tf.random.stateless_truncated_normal):
            first = function([1000], [1, 2]).numpy()
            tf.random.normal([3])
            np.testing.assert_array_equal(function([1000], seed=(1, 2)).numpy(), first)
            for other in ((2, 1), (1, 3), (-1, 2)):
                self.assertLess(abs(np.corrcoef(first, function([1000], other).numpy())[0, 1]), .15)
        self.assertEqual(tf.random.stateless_categorical([[0., 0.]], 7, [1, 2]).shape, (1, 7))
        for least in (tf.random.stateless_gamma([3], [1, 2], 1e-3, 1e30), tf.random.gamma([3], 1e-3, 1e30, seed=1)):
            self.assertGreater(least.numpy().min(), 0)
        with self.assertRaisesRegex(ValueError, "stateless_gamma: broadcast_to: .*beta"):
            tf.random.stateless_gamma([3], [1, 2], 1., [[1.], [2.]])
        whole = tf.random.stateless_uniform([50], [1, 2], -3, 3, tf.int32).numpy()
        self.assertTrue(whole.min() >= -3 and whole.max() < 3)
        whole = tf.random.stateless_uniform([2000], [1, 2], None, None, tf.int64).numpy()
        self.assertTrue(whole.min() < -2**62 and whole.max() > 2**62)
        self.assertFalse(np.array_equal(tf.random.normal([3]).numpy(), tf.random.normal([3]).numpy()))
        with self.assertRaisesRegex(ValueError, "two integers"):
            tf.random.stateless_uniform([3], 5)


if __name__ == "__main__":
    unittest.main()
