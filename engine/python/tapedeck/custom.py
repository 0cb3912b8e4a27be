"""tf.custom_gradient."""
import functools

from tapedeck import _engine, nest


def _gradient_list(name, gradients, count):
    """What the user's gradient function returned, as one entry per input."""
    flat = nest.flatten(gradients)
    if len(flat) != count:
        raise ValueError(f"the gradient function of {name} returned {len(flat)} gradients for {count} inputs")
    return flat


def _as_tensors(arg):
    """A list or tuple that holds tensors stays one; whatever else a tensor can be made of becomes one."""
    if nest.is_nested(arg) and any(isinstance(leaf, (_engine.Tensor, _engine.Variable)) for leaf in nest.flatten(arg)):
        return nest.map_structure(_engine.convert_to_tensor, arg)
    return _engine.convert_to_tensor(arg)


def custom_gradient(f):
    """Decorates a function that returns (result, grad), so that grad replaces the result's own gradient.

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            def grad(upstream):
                return upstream * (1 - 1 / (1 + e))
            return tf.math.log(1 + e), grad

    grad takes one gradient per tensor of the result and returns one per positional argument's tensor: a tensor where
    there is one, else a tuple or list; None where there is none. Keyword arguments are passed on and have no gradient.
    A gradient that did not arrive comes in as zeros. Decorated functions nest, and can be differentiated again.
    """
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        args = tuple(_as_tensors(arg) for arg in args)
        inputs = nest.flatten(args)
        structure = None

        def function():
            nonlocal structure
            returned = f(*args, **kwargs)
            if not (isinstance(returned, (tuple, list)) and len(returned) == 2 and callable(returned[1])):
                raise TypeError(f"{name} is decorated with custom_gradient, so it returns (result, grad), "
                                f"with grad a function; it returned {type(returned).__name__}")
            result, grad = returned
            structure = result
            outputs = [_engine.convert_to_tensor(output) for output in nest.flatten(result)]

            def vjp(cotangents):
                zeros_like = _engine.op_function("zeros_like")
                filled = [zeros_like(output) if cotangent is None else cotangent
                          for cotangent, output in zip(cotangents, outputs)]
                return _gradient_list(name, grad(*filled), len(inputs))

            return outputs, vjp

        outputs = _engine.custom_gradient(name, inputs, function)
        return nest.pack_sequence_as(structure, outputs)

    return decorated
