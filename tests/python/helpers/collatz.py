"""A loop with a branch in it, for tests of functions that are converted or traced."""
import tapedeck as tf


def collatz(a):
    """The number of steps from the scalar `a` to 1."""
    steps = tf.constant(0)
    while a != 1:
        if a % 2 == 0:
            a = a // 2
        else:
            a = 3 * a + 1
        steps += 1
    return steps
