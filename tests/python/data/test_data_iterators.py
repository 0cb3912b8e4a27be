"""Iterators of data sets: saved and restored anywhere, errors with stage and element, threads that end, memory."""
import gc
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine, tfe

Dataset = tf.data.Dataset


def setUpModule():
    """Functions of stages are called for each element here; test_data_in_functions.py has those that are traced."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    unittest.addModuleCleanup(tf.config.run_functions_eagerly, before)



def ints(iterator):
    return [int(x) for x in iterator]


def thread_count():
    return len(os.listdir("/proc/self/task"))


def run_alone(program, **kwargs):
    """The program in a process of its own: (exit status, output, errors)."""
    done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=200,
                          **kwargs)
    return done.returncode, done.stdout, done.stderr


def pipelines():
    """Trees with every kind of buffer and thread, of about 20 elements each."""
    rows = Dataset.from_tensor_slices(np.arange(20))
    counted = Dataset.range(20).map(lambda x: x * 3)
    return {
        "shuffled rows": rows.shuffle(8, seed=1), "shuffled elements": counted.shuffle(8, seed=1),
        "shuffled twice": rows.shuffle(5, seed=1).repeat(2), "prefetched": counted.prefetch(3),
        "parallel": rows.shuffle(6, seed=2).map(lambda x: x + 1, num_parallel_calls=3),
        "all of it": rows.shuffle(6, seed=2).map(lambda x: x + 1, num_parallel_calls=3).prefetch(2).shuffle(4, seed=3).prefetch(2),
        "batches": rows.shuffle(7, seed=4).batch(3).prefetch(1).unbatch(),
        "windows": Dataset.range(9).window(3, 1).flat_map(lambda w: w),
        "windows ahead": Dataset.range(9).window(3, 2).prefetch(2).flat_map(lambda w: w),
        "interleaved": Dataset.range(5).interleave(lambda x: Dataset.range(x, x + 4), 3, 2, num_parallel_calls=2),
        "grouped": Dataset.range(20).group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), window_size=4).unbatch(),
        "cached": counted.cache().repeat(2), "generated": Dataset.from_generator(lambda: iter(range(15)), tf.int64, []),
        "chosen": Dataset.sample_from_datasets([Dataset.range(8), Dataset.range(50, 62)], seed=7),
        "scanned": Dataset.range(12).scan(np.int64(1), lambda s, x: (s * 2 + x, s)), "random": Dataset.random(seed=3).take(12),
    }


class Saving(unittest.TestCase):
    def test_a_restored_iterator_goes_on_with_the_same_element_from_every_place(self):
        for name, dataset in pipelines().items():
            count = len(list(dataset))
            for place in range(count + 1):
                with self.subTest(name, place=place):
                    first = iter(dataset)
                    for _ in range(place):
                        next(first)
                    state = first._own_state()
                    second = tfe.Iterator(pipelines()[name])
                    ints_before = ints([next(second)])
                    self.assertEqual(len(ints_before), 1)
                    second._set_own_state(state)
                    self.assertEqual(ints(second), ints(first))

    def test_the_next_epoch_after_a_restoration_is_the_same_too(self):
        dataset, again = (Dataset.range(10).shuffle(10, seed=5).repeat(3) for _ in range(2))
        first = iter(dataset)
        for _ in range(4):
            next(first)
        second = iter(again)
        second._set_own_state(first._own_state())
        self.assertEqual(ints(first), ints(second))

    def test_a_state_is_tensors(self):
        state = iter(Dataset.range(5).shuffle(3, seed=1))._own_state()
        self.assertEqual(state["position"].dtype, tf.int64)
        self.assertTrue(all(isinstance(value, tf.Tensor) for value in state.values()))

    def test_a_state_of_another_data_set_is_refused(self):
        state = iter(Dataset.range(5).batch(2))._own_state()
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "does not belong to this data set"):
            iter(Dataset.range(5).take(2))._set_own_state(state)

    def test_changed_states_are_refused_or_restored_but_never_crash(self):
        draw = random.Random(1)
        for dataset in pipelines().values():
            iterator = iter(dataset)
            next(iterator)
            numbers, tensors = iterator._iterator.save()
            for _ in range(60):
                changed = list(numbers.numpy())
                for _ in range(draw.randint(1, 2)):
                    place = draw.randrange(len(changed))
                    changed[place] = draw.choice([0, 1, -1, 2**62, changed[place] + 1, draw.randrange(100)])
                if draw.random() < 0.2:
                    changed = changed[:draw.randrange(len(changed) + 1)]
                kept = [tensor for tensor in tensors if draw.random() < 0.95]
                try:
                    other = iter(dataset)
                    other._iterator.restore(tf.constant(np.array(changed, np.int64)), kept)
                    for _ in range(3):
                        next(other)
                except (tf.errors.OpError, StopIteration, IndexError, ValueError, TypeError):
                    pass

    def test_an_iterator_with_a_foreign_data_set_in_its_buffer_says_that_it_cannot_be_saved(self):
        iterator = iter(Dataset.range(3).map(lambda x: Dataset.range(x)).shuffle(2, seed=1))
        next(iterator)
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "cannot be saved while it holds a data set that range made"):
            iterator._own_state()


class Using(unittest.TestCase):
    def test_the_ends_of_iterators(self):
        iterator = Dataset.range(1).make_one_shot_iterator()
        self.assertEqual(int(iterator.get_next()), 0)
        self.assertRaises(tf.errors.OutOfRangeError, iterator.get_next)
        iterator = tfe.Iterator(Dataset.range(2))
        self.assertEqual((int(iterator.next()), int(next(iterator))), (0, 1))
        self.assertRaises(StopIteration, iterator.next)
        self.assertRaises(StopIteration, iterator.next)
        self.assertEqual((iterator.output_types, iterator.output_shapes), (tf.int64, tf.TensorShape([])))
        self.assertRaises(TypeError, tfe.Iterator, [1, 2])
        self.assertRaises(RuntimeError, Dataset.range(2).make_initializable_iterator)

    def test_an_error_names_stage_and_element_keeps_its_class_and_its_cause(self):
        class Odd(Exception):
            def __init__(self, one, two):
                super().__init__(one, two)

        def fails(error):
            def function(x):
                if int(x) == 3:
                    raise error
                return x
            return function
        place = r"map \(stage 2 of 4\), element 3"
        for parallel in (None, 3):
            for error, kind in [(ValueError("no"), ValueError),
                                (tf.errors.InvalidArgumentError("bad"), tf.errors.InvalidArgumentError),
                                (StopIteration("end"), RuntimeError),
                                (tf.errors.OutOfRangeError("end"), tf.errors.InvalidArgumentError)]:
                with self.assertRaisesRegex(kind, place) as caught:
                    list(Dataset.range(9).map(fails(error), parallel).batch(2).prefetch(2))
                self.assertIs(caught.exception.__cause__, error)
                self.assertIsNotNone(error.__traceback__)
            with self.assertRaises(Odd) as caught:
                list(Dataset.range(9).map(fails(Odd(1, 2)), parallel).batch(2).prefetch(2))
            self.assertRegex(caught.exception.__notes__[0], place)

    def test_the_elements_behind_an_error_come(self):
        for dataset in (Dataset.range(4), Dataset.range(4).prefetch(1)):
            for parallel in (None, 2):
                iterator = iter(dataset.map(lambda x: 6 // (int(x) - 1), parallel))
                found = []
                for _ in range(4):
                    try:
                        found.append(int(next(iterator)))
                    except ZeroDivisionError:
                        found.append("error")
                self.assertEqual(found, [-6, "error", 6, 3])

    def test_a_predicate_must_give_one_truth_value(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    r"filter \(stage 2 of 2\), element 0: the predicate returned float32"):
            list(Dataset.range(2).filter(lambda x: 1.5))

    def test_an_iterator_that_is_asked_by_its_own_function_says_so(self):
        iterator = iter(Dataset.range(3).map(lambda x: next(iterator)))
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "by a function of its own data set"):
            next(iterator)

    def test_threads_may_share_an_iterator(self):
        iterator, found = iter(Dataset.range(2000).map(lambda x: x).prefetch(4)), []

        def take():
            for x in iterator:
                found.append(int(x))
        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), list(range(2000)))

    def test_debug_mode_has_no_threads_and_the_same_elements(self):
        from tapedeck.data import settings
        dataset = Dataset.range(10).map(lambda x: (x, threading.get_ident()), num_parallel_calls=3).prefetch(3)
        self.assertNotIn(threading.get_ident(), [int(ident) for _, ident in dataset])
        settings.enable_debug_mode()
        try:
            self.assertEqual([(int(x), int(ident)) for x, ident in dataset], [(x, threading.get_ident()) for x in range(10)])
            iterator = iter(pipelines()["all of it"])
            state = iterator._own_state()
        finally:
            settings.debug_mode = False
        other = iter(pipelines()["all of it"])
        other._set_own_state(state)
        self.assertEqual(ints(other), ints(iterator))

    def test_ops_of_functions_are_recorded_and_taped_on_the_iterating_thread_only(self):
        debug, variable = _engine.debug, tf.Variable(2.)
        debug.attach()
        try:
            for parallel, gradient in ((None, 3.), (2, None)):
                before = len(json.loads(debug.records_json()))
                with tf.GradientTape() as tape:
                    result, = Dataset.range(1).map(lambda x: variable * 3., num_parallel_calls=parallel)
                    result = result + 0.
                names = [record["op"] for record in json.loads(debug.records_json())[before:]]
                self.assertEqual(names, ["add"] if gradient is None else ["multiply", "add"])
                self.assertEqual(tape.gradient(result, variable), gradient)
        finally:
            debug.stop()

    def test_functions_are_stepped_on_the_iterating_thread_and_never_wait_at_the_gate_on_others(self):
        debug = _engine.debug
        debug.attach()
        try:
            debug.gate("pause")
            ahead = iter(Dataset.range(3).map(lambda x: x * 2, num_parallel_calls=2).map(tf.negative).prefetch(2))
            self.assertEqual(ints(ahead), [0, -2, -4])
            found = []
            taking = threading.Thread(target=lambda: found.extend(Dataset.range(2).map(lambda x: x * 2)))
            taking.start()
            for stops in (1, 2):
                while (debug.record_count(), debug.status()["gate"]) != (stops, "stopped"):
                    self.assertTrue(taking.is_alive())
                    time.sleep(0.002)
                debug.gate("step_op" if stops == 1 else "run")
            taking.join()
            self.assertEqual(ints(found), [0, 2])
        finally:
            debug.stop()


class Threads(unittest.TestCase):
    def setUp(self):
        list(Dataset.from_tensor_slices(np.zeros((1000, 1000), np.float32)).batch(1000))  # the kernels' own threads stay
        gc.collect()
        self.before = thread_count()

    def assertNoThreadLeft(self):
        gc.collect()
        self.assertEqual(thread_count(), self.before)

    def endless(self, function=lambda x: x):
        return Dataset.range(10).repeat().map(function, num_parallel_calls=3).prefetch(3)

    def test_an_iterator_at_its_end_and_one_dropped_half_way_leave_none(self):
        self.assertEqual(len(list(self.endless().take(50))), 50)
        self.assertNoThreadLeft()
        iterator = iter(self.endless())
        next(iterator)
        self.assertEqual(thread_count(), self.before + 4)
        del iterator
        self.assertNoThreadLeft()
        iter(self.endless())  # never asked: never begun
        self.assertNoThreadLeft()

    def test_a_stage_that_raises_leaves_none(self):
        def function(x):
            raise ValueError
        for _ in range(20):
            iterator = iter(self.endless(function))
            self.assertRaises(ValueError, next, iterator)
            del iterator
        self.assertNoThreadLeft()

    def test_what_never_finds_an_element_ends_when_it_is_dropped(self):
        searching = threading.Event()

        def predicate(x):
            searching.set()
            return False
        endless = Dataset.range(2**40).filter(predicate)
        for dataset in (endless.prefetch(1).prefetch(1), endless.prefetch(1).map(lambda x: x, num_parallel_calls=2)):
            searching.clear()
            iterator = iter(dataset)
            threading.Thread(target=lambda: (searching.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
            with self.assertRaises(KeyboardInterrupt):
                next(iterator)
            del iterator
            self.assertNoThreadLeft()

    def test_iterators_open_in_one_another_leave_none(self):
        dataset = Dataset.range(4).interleave(lambda x: Dataset.range(100).prefetch(2), 3, num_parallel_calls=3).prefetch(2)
        iterator = iter(dataset)
        next(iterator)
        self.assertGreater(thread_count(), self.before)
        del iterator
        self.assertNoThreadLeft()

    def test_control_c_ends_a_wait(self):
        program = """
            import os, signal, threading, time
            import tapedeck as tf
            tf.config.run_functions_eagerly(True)  # the function waits for each element
            begun = threading.Event()
            def slow(x):
                begun.set()
                threading.Event().wait(0.5)
                return x
            threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
            iterator = iter(tf.data.Dataset.range(3).map(slow, num_parallel_calls=1).prefetch(1))
            try:
                next(iterator)
            except KeyboardInterrupt:
                print("interrupted")
            print(int(next(iterator)))
        """
        self.assertEqual(run_alone(program)[:2], (0, "interrupted\n0\n"))

    def test_the_interpreters_exit_ends_them(self):
        program = """
            import tapedeck as tf
            dataset = tf.data.Dataset.range(10).repeat().map(lambda x: x + 1, num_parallel_calls=4).prefetch(4)
            iterators = [iter(dataset) for _ in range(5)]
            for iterator in iterators:
                next(iterator)
            {ending}
        """
        for ending in ("", "import sys; sys.exit(0)", "iterators.append(iterators)"):
            self.assertEqual(run_alone(program.format(ending=ending)), (0, "", ""), ending)
        for iterator in ("iterators[0]", "iter(tf.data.Dataset.range(10**12))",
                         "iter(tf.data.Dataset.range(10**12).map(tf.negative))"):
            taking = (f"import threading; taking = lambda it: [next(it) for _ in range(10**9)]; "
                      f"threading.Thread(target=taking, args=[{iterator}], daemon=True).start()")
            status, _, errors = run_alone(program.format(ending=taking))
            self.assertEqual(status, 0, errors)

    @unittest.skipIf("libtsan" in os.environ.get("LD_PRELOAD", ""), "the thread sanitizer follows no process that forks with threads")
    def test_a_forked_process_is_told_and_ends(self):
        program = """
            import os
            import tapedeck as tf
            iterator = iter(tf.data.Dataset.range(100).map(lambda x: x, num_parallel_calls=2).prefetch(2))
            next(iterator)
            child = os.fork()
            if child == 0:
                try:
                    next(iterator)
                except tf.errors.FailedPreconditionError as error:
                    print(str(error)[:60], flush=True)
                print(len(list(tf.data.Dataset.range(9).prefetch(2))), flush=True)
                del iterator
            else:
                print(os.waitpid(child, 0)[1])
                print(sum(1 for _ in iterator))
        """
        status, output, errors = run_alone(program)
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual(output, "an iterator with its own threads was created before the proc\n9\n0\n99\n")


class Memory(unittest.TestCase):
    @unittest.skipIf(re.search("lib[at]san", os.environ.get("LD_PRELOAD", "")), "sanitizers take memory of their own")
    def test_a_million_elements_keep_flat_memory(self):
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        dataset = Dataset.range(1000000).shuffle(1000).batch(10).prefetch(4)
        iterator = iter(dataset)
        for _ in range(1000):
            next(iterator)
        gc.collect()
        before = peak()
        count = sum(1 for _ in iterator)
        self.assertEqual(count, 99000)
        self.assertLess(peak() - before, 8 * 1024)  # KiB

    def test_a_dropped_iterator_gives_its_memory_back(self):
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        iterator = iter(Dataset.range(100).map(lambda x: tf.zeros([1000, 100])).shuffle(50).prefetch(5))
        next(iterator)
        self.assertGreater(tf.config.experimental.get_memory_info("CPU:0")["current"], before + 40 * 400000)
        del iterator
        gc.collect()
        self.assertLess(tf.config.experimental.get_memory_info("CPU:0")["current"], before + 400000)


if __name__ == "__main__":
    unittest.main()
