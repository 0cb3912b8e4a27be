"""tf.test.TestCase and tf.test.main: tests of programs that compute with tensors."""
import contextlib
import os
import re
import sys
import tempfile
import unittest

import numpy as np

from tapedeck import _engine
from tapedeck._client.default_session import get_default_session
from tapedeck._core import dtypes, nest, program_graph
from tapedeck._core.errors import OpError
from tapedeck._core.public import NAMES, public
from tapedeck._random import distributions as random


def _array(value):
    """The value as a NumPy array; a list of tensors too."""
    if isinstance(value, (_engine.Tensor, _engine.Variable)):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and any(isinstance(leaf, (_engine.Tensor, _engine.Variable)) for leaf in nest.flatten(value)):
        return np.asarray([_array(each) for each in value])
    return np.asarray(value)


@public("test.TestCase")
class TestCase(unittest.TestCase):
    """unittest's TestCase with assertions on arrays and tensors. Each test begins with the random seed 87654321."""

    def setUp(self):
        super().setUp()
        random.set_seed(87654321)
        self._folder = None

    def get_temp_dir(self):
        """A folder for this test's files; it goes when the test ends."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return self._folder.name

    def create_tempfile(self, name="file"):
        """The path of a file of that name in get_temp_dir()."""
        return os.path.join(self.get_temp_dir(), name)

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """Yields a tf.Session of the graph, None for the default one where a graph is built. Where ops run at once they have run by
        themselves, and it yields an object whose run gives values, as evaluate. The others change nothing."""
        if graph is None and program_graph.current() is None:
            yield _Evaluator(self)
            return
        with NAMES["Session"](graph=graph, config=config) as session:
            yield session

    cached_session = session

    def test_session(self, *args, **kwargs):
        """TensorFlow 1's name of session(). unittest takes it for a test, which it is not."""
        if self._testMethodName == "test_session":
            self.skipTest("test_session is not a test")
        return self.session(*args, **kwargs)

    def evaluate(self, tensors):
        """The values of a structure of tensors, or of what a function returns, as NumPy's: in a tf.Graph, in the default session."""
        if callable(tensors) and not isinstance(tensors, (_engine.Tensor, _engine.Variable)):
            tensors = tensors()
        session = get_default_session()
        if session is not None and program_graph.current() is not None:
            return session.run(tensors)
        return nest.map_structure(lambda leaf: leaf.numpy() if hasattr(leaf, "numpy") else leaf, tensors)

    def assertAllEqual(self, a, b, msg=None):
        """Shapes and all elements are equal; NaN equals NaN."""
        a, b = _array(a), _array(b)
        self.assertEqual(a.shape, b.shape, msg)
        same = a == b
        if a.dtype.kind in "fc" and b.dtype.kind in "fc":
            same = same | (np.isnan(a) & np.isnan(b))
        self._assert_all(same, a, b, "equal", msg)

    def assertNotAllEqual(self, a, b, msg=None):
        """Shapes, or at least one element, differ."""
        a, b = _array(a), _array(b)
        if a.shape == b.shape and bool(np.all(a == b)):
            self.fail(f"{msg or ''} all elements are equal: {a}")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """|a − b| ≤ atol + rtol·|b|, element by element, in structures too."""
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''} [{key!r}]")
            return
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and _is_ragged(a):
            self.assertEqual(len(a), len(b), msg)
            for index, (one, other) in enumerate(zip(a, b)):
                self.assertAllClose(one, other, rtol, atol, f"{msg or ''} [{index}]")
            return
        a, b = _array(a), _array(b)
        self.assertEqual(a.shape, b.shape, msg)
        if a.dtype == np.float16 or b.dtype == np.float16:
            rtol, atol = max(rtol, 1e-3), max(atol, 1e-3)
        self._assert_all(np.isclose(a, b, rtol, atol, equal_nan=True), a, b, f"close (rtol {rtol}, atol {atol})", msg)

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """At least one element is not close to the other's."""
        with self.assertRaises(self.failureException, msg=msg):
            self.assertAllClose(a, b, rtol, atol)

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6, half_rtol=1e-3, half_atol=1e-3,
                                      bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None):
        """assertAllClose with the tolerances of the narrower of the two dtypes."""
        found = {_array(a).dtype.name, _array(b).dtype.name}
        for name, dtype_rtol, dtype_atol in (("float32", float_rtol, float_atol), ("float16", half_rtol, half_atol),
                                             ("bfloat16", bfloat16_rtol, bfloat16_atol)):
            if name in found:
                rtol, atol = max(rtol, dtype_rtol), max(atol, dtype_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def _assert_all(self, holds, a, b, what, msg):
        if not np.all(holds):
            places = np.argwhere(~np.asarray(holds))
            first = tuple(int(index) for index in places[0]) if np.ndim(holds) else ()
            self.fail(f"{msg or ''} {len(places)} of {max(np.size(holds), 1)} elements are not {what}; the first at {list(first)}: "
                      f"{a[first]!r} and {b[first]!r}")

    def _assert_elements(self, a, holds, what):
        a = _array(a)
        self._assert_all(holds(a), a, a, what, None)

    def assertAllGreater(self, a, comparison_target):
        """All elements are greater than the number."""
        self._assert_elements(a, lambda x: x > comparison_target, f"greater than {comparison_target}")

    def assertAllLess(self, a, comparison_target):
        """All elements are less than the number."""
        self._assert_elements(a, lambda x: x < comparison_target, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a, comparison_target):
        """No element is less than the number."""
        self._assert_elements(a, lambda x: x >= comparison_target, f"at least {comparison_target}")

    def assertAllLessEqual(self, a, comparison_target):
        """No element is greater than the number."""
        self._assert_elements(a, lambda x: x <= comparison_target, f"at most {comparison_target}")

    def assertAllInSet(self, target, expected_set):
        """All elements are in the set."""
        self._assert_elements(target, lambda x: np.isin(x, list(expected_set)), f"in {sorted(expected_set)}")

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False):
        """All elements are between the bounds."""
        self._assert_elements(target, lambda x: ((x > lower_bound) if open_lower_bound else (x >= lower_bound))
                              & ((x < upper_bound) if open_upper_bound else (x <= upper_bound)), f"in {lower_bound} … {upper_bound}")

    def assertNear(self, f1, f2, err, msg=None):
        """|f1 − f2| ≤ err, or both are the same."""
        f1, f2 = float(f1), float(f2)
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} and {f2} differ by more than {err}{f': {msg}' if msg else ''}")

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        """assertNear of each pair of elements."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(f1, f2, err, msg)

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
        """The norm of the difference is less than err."""
        self.assertLess(np.linalg.norm(_array(ndarray1) - _array(ndarray2)), err, msg)

    def assertShapeEqual(self, input_a, input_b, msg=None):
        """Both have one shape."""
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target, expected_dtype):
        """target has the dtype."""
        self.assertEqual(dtypes.as_dtype(_array(target).dtype), dtypes.as_dtype(expected_dtype))

    def assertEmpty(self, container, msg=None):
        """len(container) is 0."""
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container, msg=None):
        """len(container) is not 0."""
        self.assertNotEqual(len(container), 0, msg)

    def assertLen(self, container, expected_len, msg=None):
        """len(container) is expected_len."""
        self.assertEqual(len(container), expected_len, msg)

    def assertBetween(self, value, minv, maxv, msg=None):
        """minv ≤ value ≤ maxv."""
        self.assertLessEqual(minv, value, msg)
        self.assertLessEqual(value, maxv, msg)

    def assertStartsWith(self, actual, expected_start, msg=None):
        """The text begins with the other."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not begin with {expected_start!r}{f': {msg}' if msg else ''}")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        """An exception of the type is raised whose text the pattern is found in, or for which the function is true."""
        try:
            yield
        except exception_type as error:
            matches = expected_err_re_or_predicate
            if not (matches(error) if callable(matches) else re.search(matches, str(error))):
                self.fail(f"{type(error).__name__} was raised, but it says: {error}")
        else:
            self.fail(f"{exception_type.__name__} was not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        """A tf.errors.OpError is raised whose text the pattern is found in."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)


class _Evaluator:
    """What `with self.session() as sess` gives."""

    def __init__(self, case):
        self._case = case

    def run(self, fetches, feed_dict=None):
        """The values of a structure of tensors, as NumPy's."""
        if feed_dict:
            raise ValueError("run: feed_dict needs placeholders, which eager execution has none of")
        return self._case.evaluate(fetches)


def _is_ragged(values):
    """Whether no one array can be made of the list: its elements' shapes differ, or they are structures."""
    if any(isinstance(each, dict) for each in values):
        return True
    return len({_array(each).shape for each in values if not isinstance(each, str)}) > 1


# Names that unittest had and has no longer under Python 3.12, or that absl adds.
for _old, _new in {"assertItemsEqual": "assertCountEqual", "assertRaisesRegexp": "assertRaisesRegex", "assertRegexpMatches": "assertRegex",
                   "assertNotRegexpMatches": "assertNotRegex", "assertEquals": "assertEqual", "assertSameElements": "assertCountEqual",
                   "assert_": "assertTrue"}.items():
    setattr(TestCase, _old, getattr(unittest.TestCase, _new))


@public("test.Benchmark")
class Benchmark:
    """A base of measurements, which a program calls itself: methods named benchmark_… that report what they measured."""

    def report_benchmark(self, iters=None, cpu_time=None, wall_time=None, throughput=None, extras=None, name=None):
        """Prints one line: the name, the class where it is None, and what is given. Times in seconds; extras: a dict."""
        given = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput, **(extras or {})}
        print(name or type(self).__name__, *(f"{key}={value}" for key, value in given.items() if value is not None))


@public("test.main")
def main(argv=None):
    """Runs the program's tests, and ends it."""
    unittest.main(module="__main__", argv=sys.argv if argv is None else argv)
