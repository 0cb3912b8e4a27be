"""Points of three classes, and a small classifier of them."""
import numpy as np
import tapedeck as tf

layers = tf.keras.layers
RNG = np.random.default_rng(5)


def problem(count=96, inputs=6, classes=3):
    x = RNG.normal(size=(count, inputs)).astype(np.float32)
    return x, (x @ RNG.normal(size=(inputs, classes))).argmax(1)


def classifier(dtype=None):
    tf.random.set_seed(7)
    return tf.keras.Sequential([tf.keras.Input((6,), dtype=dtype), layers.Dense(8, activation="tanh", dtype=dtype),
                                layers.Dense(3, dtype=dtype)])


def compiled(model, **arguments):
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), **arguments)
    return model
