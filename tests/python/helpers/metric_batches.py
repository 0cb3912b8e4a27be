"""Three batches of labels, predictions and weights, and what metrics say of them, for the tests of metrics."""
import numpy as np

generator = np.random.RandomState(1)
LABELS = [(generator.rand(6, 4) > .5).astype(np.float32) for _ in range(3)]
PREDICTIONS = [generator.rand(6, 4).astype(np.float32) for _ in range(3)]
CLASSES = [generator.randint(0, 4, 6) for _ in range(3)]
GUESSES = [generator.randint(0, 4, 6) for _ in range(3)]
WEIGHTS = [generator.rand(6).astype(np.float32) for _ in range(3)]
EPSILON = 1e-7


def over_batches(metric, labels, predictions, weights=None):
    for place, (y, p) in enumerate(zip(labels, predictions)):
        metric.update_state(y, p, None if weights is None else weights[place])
    return np.asarray(metric.result())


def together(values):
    return np.concatenate(values).astype(float)


def ratio(a, b):
    return np.divide(a, b, out=np.zeros(np.shape(b)), where=b != 0)
