"""Data sets: random trees of stages against the same in plain Python."""
import itertools
import random
import unittest

import numpy as np

import tapedeck as tf
from campaign import Campaign

Dataset = tf.data.Dataset


def _chunks(rows, size, drop):
    chunks = [rows[start:start + size] for start in range(0, len(rows), size)]
    return [chunk for chunk in chunks if len(chunk) == size or not drop]


def _with_model(draw):
    """A data set of scalars, and the list of its elements."""
    if draw.random() < 0.5:
        limits = draw.randint(-5, 5), draw.randint(-5, 30), draw.choice([1, 2, 3])
        return Dataset.range(*limits), list(range(*limits))
    rows = [draw.randint(-20, 20) for _ in range(draw.randint(1, 25))]
    return Dataset.from_tensor_slices(np.array(rows, np.int64)), rows


def _interleaved(rows, cycle, block):
    def parts():
        for row in rows:
            yield [row] * (abs(row) % 4)
    waiting, open_parts, out, at = parts(), [None] * cycle, [], 0
    ended = False
    while True:
        if open_parts[at] is None and not ended:
            open_parts[at] = next(waiting, None)
            ended = open_parts[at] is None
            if not ended and not open_parts[at]:  # it has no element at all
                open_parts[at] = None
                at = (at + 1) % cycle
                continue
        if open_parts[at] is None:
            if ended and not any(part is not None for part in open_parts):
                return out
            at = (at + 1) % cycle
            continue
        taken = open_parts[at][:block]
        out += taken
        rest = open_parts[at][block:]
        if len(taken) < block or not rest:
            full = len(taken) == block
            open_parts[at] = rest if full else None
            if full and not rest:
                open_parts[at] = []
        else:
            open_parts[at] = rest
        at = (at + 1) % cycle


def _grown(dataset, rows, draw):
    """One more stage, and what it makes of the model's list."""
    n, size, drop = draw.randint(0, 12), draw.randint(1, 5), draw.random() < 0.5
    other, other_rows = _with_model(draw)
    shift, cycle, block = draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 3)
    shards = draw.randint(1, 4)
    index = draw.randrange(shards)
    windows = [rows[start:start + size] for start in range(0, len(rows), shift)]
    windows = [window for window in windows if len(window) == size or not drop]
    stages = [
        lambda: (dataset.map(lambda x: x * 2 + n), [x * 2 + n for x in rows]),
        lambda: (dataset.map(lambda x: x - n, num_parallel_calls=3), [x - n for x in rows]),
        lambda: (dataset.filter(lambda x: x % 3 != 0), [x for x in rows if x % 3]),
        lambda: (dataset.take(n), rows[:n]),
        lambda: (dataset.skip(n), rows[n:]),
        lambda: (dataset.repeat(size % 3), rows * (size % 3)),
        lambda: (dataset.shard(shards, index), rows[index::shards]),
        lambda: (dataset.concatenate(other), rows + other_rows),
        lambda: (Dataset.zip((dataset, other)).map(lambda a, b: a + b), [a + b for a, b in zip(rows, other_rows)]),
        lambda: (dataset.batch(size, drop).map(lambda x: tf.reduce_sum(x)), [sum(chunk) for chunk in _chunks(rows, size, drop)]),
        lambda: (dataset.batch(size, drop).unbatch(), [x for chunk in _chunks(rows, size, drop) for x in chunk]),
        lambda: (dataset.window(size, shift, 1, drop).flat_map(lambda w: w), [x for window in windows for x in window]),
        lambda: (dataset.flat_map(lambda x: Dataset.from_tensors(x).repeat(abs(int(x)) % 4)),
                 [x for x in rows for _ in range(abs(x) % 4)]),
        lambda: (dataset.interleave(lambda x: Dataset.from_tensors(x).repeat(abs(int(x)) % 4), cycle, block,
                                    num_parallel_calls=draw.choice([None, 2])), _interleaved(rows, cycle, block)),
        lambda: (dataset.enumerate().map(lambda i, x: x + i), [x + i for i, x in enumerate(rows)]),
        lambda: (dataset.scan(np.int64(0), lambda s, x: (s + x, s + x)), list(itertools.accumulate(rows))),
        lambda: (dataset.take_while(lambda x: x < 15), list(itertools.takewhile(lambda x: x < 15, rows))),
        lambda: (dataset.cache(), rows),
        lambda: (dataset.prefetch(draw.randint(1, 4)), rows),
        lambda: (dataset.shuffle(30, seed=n).batch(1000).map(tf.sort).unbatch() if len(rows) <= 100 else dataset,
                 sorted(rows) if len(rows) <= 100 else rows),
        lambda: (dataset.group_by_window(lambda x: x * 0, lambda key, w: w.batch(size), window_size=size).unbatch(), rows),
    ]
    return draw.choice(stages)()


def random_pipeline(seed):
    """(data set, the list of its elements)."""
    draw = random.Random(seed)
    dataset, rows = _with_model(draw)
    for _ in range(draw.randint(1, 6)):
        grown, grown_rows = _grown(dataset, rows, draw)
        if len(grown_rows) <= 300:
            dataset, rows = grown, grown_rows
    return dataset, rows


class RandomTrees(unittest.TestCase):
    def test_random_trees_of_stages_give_what_plain_python_gives(self):
        for seed in Campaign("data_trees", "random trees of stages", 250, 2_500, "further random trees").seeds():
            with self.subTest(seed=seed):
                dataset, rows = random_pipeline(seed)
                self.assertEqual([element.numpy().tolist() for element in dataset], rows)
                count = int(dataset.cardinality())
                self.assertIn(count, (len(rows), tf.data.UNKNOWN_CARDINALITY))

    def test_random_trees_go_on_where_they_were_saved(self):
        for seed in Campaign("data_tree_states", "random trees that are saved and restored", 150, 1_500, "further random trees").seeds():
            with self.subTest(seed=seed):
                dataset, rows = random_pipeline(seed)
                place = random.Random(seed).randint(0, len(rows))
                first = iter(dataset)
                begun = [int(next(first)) for _ in range(place)]
                state = first._own_state()
                second = iter(dataset)
                second._set_own_state(state)
                self.assertEqual(begun + [int(x) for x in second], rows)
                self.assertEqual(begun + [int(x) for x in first], rows)


if __name__ == "__main__":
    unittest.main()
