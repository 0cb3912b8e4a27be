"""Optimisers in NumPy, from their papers' formulas and TensorFlow's documents: one step of float64 arrays, for tests."""
import numpy as np


def gradient_descent(rate):
    return lambda x, g, s, t: x - rate * g


def momentum(rate, momentum, nesterov=False):
    def step(x, g, s, t):
        s["a"] = momentum * s.get("a", 0.0) + g
        return x - rate * (g + momentum * s["a"] if nesterov else s["a"])
    return step


def velocity(rate, momentum, nesterov=False):
    def step(x, g, s, t):
        s["v"] = momentum * s.get("v", 0.0) - rate * g
        return x + (momentum * s["v"] - rate * g if nesterov else s["v"])
    return step


def adagrad(rate, initial=0.1, epsilon=0.0):
    def step(x, g, s, t):
        s["a"] = s.get("a", initial) + g * g
        return x - rate * g / np.sqrt(s["a"] + epsilon)
    return step


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


def proximal_gradient_descent(rate, l1, l2):
    return lambda x, g, s, t: soft(x - rate * g, rate * l1) / (1 + rate * l2)


def proximal_adagrad(rate, l1, l2, initial=0.1):
    def step(x, g, s, t):
        s["a"] = s.get("a", initial) + g * g
        own = rate / np.sqrt(s["a"])
        return soft(x - own * g, own * l1) / (1 + own * l2)
    return step


def adagrad_da(rate, l1, l2, initial=0.1):
    def step(x, g, s, t):
        s["g"], s["q"] = s.get("g", 0.0) + g, s.get("q", initial) + g * g
        return -rate * soft(s["g"], l1 * t) / (l2 * t * rate + np.sqrt(s["q"]))
    return step


def adadelta(rate, rho, epsilon):
    def step(x, g, s, t):
        s["a"] = rho * s.get("a", 0.0) + (1 - rho) * g * g
        change = np.sqrt(s.get("u", 0.0) + epsilon) / np.sqrt(s["a"] + epsilon) * g
        s["u"] = rho * s.get("u", 0.0) + (1 - rho) * change * change
        return x - rate * change
    return step


def rms_prop(rate, rho, epsilon, momentum=0.0, centered=False, initial=0.0):
    def step(x, g, s, t):
        s["q"] = rho * s.get("q", initial) + (1 - rho) * g * g
        s["m"] = rho * s.get("m", 0.0) + (1 - rho) * g
        variance = s["q"] - (s["m"] ** 2 if centered else 0.0)
        s["p"] = momentum * s.get("p", 0.0) + rate * g / np.sqrt(variance + epsilon)
        return x - s["p"]
    return step


def adam(rate, beta1=0.9, beta2=0.999, epsilon=1e-8, amsgrad=False, decay=0.0):
    def step(x, g, s, t):
        s["m"] = beta1 * s.get("m", 0.0) + (1 - beta1) * g
        s["v"] = beta2 * s.get("v", 0.0) + (1 - beta2) * g * g
        s["h"] = np.maximum(s.get("h", 0.0), s["v"]) if amsgrad else s["v"]
        size = rate * np.sqrt(1 - beta2 ** t) / (1 - beta1 ** t)
        return x - decay * x - size * s["m"] / (np.sqrt(s["h"]) + epsilon)
    return step


def adamax(rate, beta1=0.9, beta2=0.999, epsilon=1e-7):
    def step(x, g, s, t):
        s["m"] = beta1 * s.get("m", 0.0) + (1 - beta1) * g
        s["u"] = np.maximum(beta2 * s.get("u", 0.0), np.abs(g))
        return x - rate / (1 - beta1 ** t) * s["m"] / (s["u"] + epsilon)
    return step


def nadam(rate, beta1=0.9, beta2=0.999, epsilon=1e-7):
    def step(x, g, s, t):
        now, then = (beta1 * (1 - 0.5 * 0.96 ** k) for k in (t, t + 1))
        s["p"] = s.get("p", 1.0) * now
        s["m"] = beta1 * s.get("m", 0.0) + (1 - beta1) * g
        s["v"] = beta2 * s.get("v", 0.0) + (1 - beta2) * g * g
        mean = then * s["m"] / (1 - s["p"] * then) + (1 - now) * g / (1 - s["p"])
        return x - rate * mean / (np.sqrt(s["v"] / (1 - beta2 ** t)) + epsilon)
    return step


def ftrl(rate, power=-0.5, l1=0.0, l2=0.0, shrinkage=0.0, initial=0.1):
    def step(x, g, s, t):
        old = s.get("n", initial)
        s["n"] = old + g * g
        s["z"] = s.get("z", 0.0) + g + 2 * shrinkage * x - (s["n"] ** -power - old ** -power) / rate * x
        quadratic = s["n"] ** -power / rate + 2 * l2
        return np.where(np.abs(s["z"]) > l1, (np.sign(s["z"]) * l1 - s["z"]) / quadratic, 0.0)
    return step


def lion(rate, beta1=0.9, beta2=0.99, decay=0.0):
    def step(x, g, s, t):
        mean = s.get("m", 0.0)
        s["m"] = beta2 * mean + (1 - beta2) * g
        return x - decay * x - rate * np.sign(beta1 * mean + (1 - beta1) * g)
    return step


def lamb(rate, beta1=0.9, beta2=0.999, epsilon=1e-7):
    def step(x, g, s, t):
        s["m"] = beta1 * s.get("m", 0.0) + (1 - beta1) * g
        s["v"] = beta2 * s.get("v", 0.0) + (1 - beta2) * g * g
        change = s["m"] / (1 - beta1 ** t) / (np.sqrt(s["v"] / (1 - beta2 ** t)) + epsilon)
        return x - rate * np.linalg.norm(x) / np.linalg.norm(change) * change
    return step


def adafactor(rate, decay=-0.8, epsilon1=1e-30, epsilon2=1e-3, threshold=1.0):
    def step(x, g, s, t):
        kept = 1 - t ** decay
        square = g * g + epsilon1
        s["r"] = kept * s.get("r", 0.0) + (1 - kept) * square.mean(-1)
        s["c"] = kept * s.get("c", 0.0) + (1 - kept) * square.mean(-2)
        change = g / np.sqrt(np.outer(s["r"], s["c"]) / s["r"].mean())
        change /= max(1.0, np.sqrt((change ** 2).mean()) / threshold)
        return x - min(rate, t ** -0.5) * max(epsilon2, np.sqrt((x ** 2).mean())) * change
    return step


def run(step, x, gradients):
    """The values after each step. gradients: a function of the step's number, from 1 on."""
    x, state, values = np.array(x, np.float64), {}, []
    for t in range(1, 101):
        x = step(x, gradients(t), state, t)
        values.append(x)
    return values


def rows_gradient(t, rows, width):
    """A gradient of some rows, one of them twice, and the same as a whole array."""
    random = np.random.default_rng(t)
    indices = random.integers(0, rows, 4)
    indices[3] = indices[0]
    values = random.normal(size=(4, width))
    whole = np.zeros((rows, width))
    np.add.at(whole, indices, values)
    return indices, values, whole


def run_rows(step, x, rows_alone):
    """The value after 100 steps of rows_gradient; rows_alone: rows without a gradient stay, and so does what belongs to them."""
    x = np.array(x, np.float64)
    if not rows_alone:
        return run(step, x, lambda t: rows_gradient(t, *x.shape)[2])[-1]
    states = [{} for _ in x]
    for t in range(1, 101):
        indices, _, whole = rows_gradient(t, *x.shape)
        for row in np.unique(indices):
            x[row] = step(x[row], whole[row], states[row], t)
    return x
