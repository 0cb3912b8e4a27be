"""A chain of ten elementwise ops with a sum, and a step of plain gradient descent, for any framework."""
import numpy as np

ELEMENTS = 10**6


def operands():
    random = np.random.default_rng(3)
    return random.standard_normal(ELEMENTS, np.float32), random.standard_normal(ELEMENTS, np.float32)


def chain(x, y, tanh, exp, sigmoid, relu):
    """What is summed up."""
    z = tanh(x * y + x)
    z = sigmoid(exp(z * .5) - y)
    return relu(z * x) + 1.
