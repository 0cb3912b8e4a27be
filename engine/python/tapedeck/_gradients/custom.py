"""tf.custom_gradient, tf.recompute_grad and tf.grad_pass_through."""
import functools
import inspect
import numbers

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public
from tapedeck._gradients.tape import in_order


def _gradient_list(name, gradients, count):
    """What the user's gradient function returned, as one entry per input."""
    flat = nest.flatten(gradients)
    if len(flat) != count:
        raise ValueError(f"the gradient function of {name} returned {len(flat)} gradients for {count} inputs")
    return flat


def _takes_variables(grad):
    try:
        parameters = inspect.signature(grad).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return True
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def _call_with_variables(name, grad, gradients, variables):
    returned = grad(*gradients, variables=variables)
    if not (isinstance(returned, (tuple, list)) and len(returned) == 2):
        raise ValueError(f"the gradient function of {name} got variables, so it returns (gradients of the arguments, "
                         f"gradients of the variables); it returned {type(returned).__name__}")
    of_inputs, of_variables = returned
    of_variables = nest.flatten(of_variables)
    if len(of_variables) != len(variables):
        raise ValueError(f"the gradient function of {name} returned {len(of_variables)} gradients "
                         f"for {len(variables)} variables")
    return of_inputs, of_variables


def _as_tensors(arg):
    """A list or tuple that holds tensors stays one; numbers and arrays become tensors; other objects stay what they are."""
    if nest.is_nested(arg) and any(isinstance(leaf, (_engine.Tensor, _engine.Variable)) for leaf in nest.flatten(arg)):
        return nest.map_structure(_engine.convert_to_tensor, arg)
    is_value = isinstance(arg, (numbers.Number, list, tuple, dict, _engine.Variable)) or hasattr(arg, "__array__")
    return _engine.convert_to_tensor(arg) if is_value else arg


def _is_tensor(leaf):
    return isinstance(leaf, _engine.Tensor)


@public("custom_gradient", "tfe.custom_gradient")
def custom_gradient(f=None):
    """Decorates a function that returns (result, grad), so that grad replaces the result's own gradient.

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            def grad(upstream):
                return upstream * (1 - 1 / (1 + e))
            return tf.math.log(1 + e), grad

    grad takes one gradient per tensor of the result and returns one per positional argument's tensor: a tensor where
    there is one, else a tuple or list; None where there is none. An argument that no tensor can be made of (text, None, an
    object) counts as one too, and gets None. Keyword arguments are passed on and have no gradient.
    A gradient that is None is passed as zeros. Decorated functions nest, and can be differentiated again.

    Where the function reads trainable variables, grad must take `variables` too: a list of them, in the order of their
    construction. It then returns a pair: the arguments' gradients, and a list of the variables' gradients. TypeError if it does not
    take `variables`: they would silently get no gradient. TypeError for an f that is not callable.
    """
    if f is None:
        return custom_gradient  # @tf.custom_gradient()
    require_callable("custom_gradient", "f", f)
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        args = tuple(_as_tensors(arg) for arg in args)
        leaves = nest.flatten(args)
        keyword_tensors = [leaf for leaf in nest.flatten(kwargs) if _is_tensor(leaf)]
        structure = None

        def function():
            nonlocal structure
            watch = _engine.Tape()
            watch._start()
            try:
                returned = f(*args, **kwargs)
            finally:
                watch._stop()
            variables = [variable for variable in in_order(watch.watched_variables()) if variable.dtype.is_floating]
            if not (isinstance(returned, (tuple, list)) and len(returned) == 2 and callable(returned[1])):
                raise TypeError(f"{name} is decorated with custom_gradient, so it returns (result, grad), "
                                f"with grad a function; it returned {type(returned).__name__}")
            result, grad = returned
            if variables and not _takes_variables(grad):
                names = ", ".join(variable.name for variable in variables)
                raise TypeError(f"{name} reads the variables {names}, so its gradient function must take the keyword "
                                "argument `variables` and return (gradients of the arguments, gradients of the variables)")
            structure = result
            outputs = [_engine.convert_to_tensor(output) for output in nest.flatten(result)]

            def vjp(cotangents):
                zeros_like = _engine.op_function("zeros_like")
                filled = [zeros_like(output) if cotangent is None else cotangent
                          for cotangent, output in zip(cotangents, outputs)]
                if variables:
                    of_arguments, of_variables = _call_with_variables(name, grad, filled, variables)
                else:
                    of_arguments, of_variables = grad(*filled), []
                pairs = zip(leaves, _gradient_list(name, of_arguments, len(leaves)))
                of_tensors = [gradient for leaf, gradient in pairs if _is_tensor(leaf)]
                return of_tensors + [None] * len(keyword_tensors) + of_variables

            return outputs, vjp, variables

        inputs = [leaf for leaf in leaves if _is_tensor(leaf)]
        outputs = _engine.custom_gradient(name, inputs + keyword_tensors, function)
        return nest.pack_sequence_as(structure, outputs)

    return decorated


@public("grad_pass_through")
def grad_pass_through(f):
    """Returns f with the gradient of the identity: the gradient of the result is passed to the arguments unchanged.

    f: a function of tensors that returns a tensor, or as many as it takes, of their shapes. Variables that it reads get no
    gradient. Errors: ValueError, at the gradient, for another number of results than of arguments; TypeError for an argument that is not
    callable.
    """
    require_callable("grad_pass_through", "f", f)

    @custom_gradient
    @functools.wraps(f)
    def passing(*args, **kwargs):
        def grad(*gradients, variables=None):
            return gradients if variables is None else (gradients, [None] * len(variables))

        return f(*args, **kwargs), grad

    return passing


@public("recompute_grad")
def recompute_grad(f):
    """Returns f without storing its intermediate values: they are recomputed for the gradient.

    Saves memory for the time of a second forward run. f must give the same values when it is called again with the same arguments: what
    is random in it needs seeds. Gradients flow to the arguments that are tensors, and to the trainable variables that f
    reads. Source: T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
    Errors: TypeError for an argument that is not callable.
    """
    require_callable("recompute_grad", "f", f)

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        @custom_gradient
        def once(*tensors):
            result = f(*tensors, **kwargs)

            def grad(*gradients, variables=None):
                variables = variables or []
                tape = _engine.Tape()
                identity = _engine.op_function("identity")
                again = nest.map_structure(lambda leaf: identity(leaf) if _is_tensor(leaf) else leaf, tensors)
                leaves = nest.flatten(again)
                sources = [leaf for leaf in leaves if _is_tensor(leaf)]
                tape._start()
                try:
                    for source in sources:
                        if source.dtype.is_floating:
                            tape.watch(source)
                    for variable in variables:
                        tape.watch(variable)
                    targets = [_engine.convert_to_tensor(leaf) for leaf in nest.flatten(f(*again, **kwargs))]
                finally:
                    tape._stop()
                found = tape._gradients(targets, sources + variables, list(gradients))
                of_tensors = iter(found)
                of_leaves = [next(of_tensors) if _is_tensor(leaf) else None for leaf in leaves]
                return (of_leaves, list(of_tensors)) if variables else of_leaves

            return result, grad

        once.__name__ = getattr(f, "__name__", type(f).__name__)
        return once(*args)

    return decorated
