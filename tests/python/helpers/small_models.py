"""Models of two layers, functional and by subclassing, and rows of random numbers for them, for the tests of models."""
import numpy as np
import tapedeck as tf

layers = tf.keras.layers
RNG = np.random.default_rng(11)


def rows(*shape):
    return RNG.normal(size=shape).astype(np.float32)


class Small(tf.keras.Model):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.hidden = layers.Dense(4, activation="tanh")
        self.top = layers.Dense(units)

    def call(self, inputs):
        return self.top(self.hidden(inputs))


def functional():
    inputs = tf.keras.Input((5,))
    return tf.keras.Model(inputs, layers.Dense(3)(layers.Dense(4, activation="tanh")(inputs)))
