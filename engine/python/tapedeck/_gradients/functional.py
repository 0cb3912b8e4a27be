"""Functions in, gradient functions out: tfe.gradients_function and its siblings."""
import functools
import inspect

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.public import public
from tapedeck._gradients.tape import GradientTape, in_order


def _positions(f, params, count):
    """Which arguments to differentiate with respect to: all, or those that params names by index or name."""
    if params is None:
        return list(range(count))
    if isinstance(params, (int, str)):
        params = [params]
    positions = []
    for param in params:
        if isinstance(param, str):
            names = list(inspect.signature(f).parameters)
            if param not in names:
                raise ValueError(f"params: {getattr(f, '__name__', f)!s} has no argument {param!r}; it has {names}")
            param = names.index(param)
        if not -count <= param < count:
            raise _engine.InvalidArgumentError(f"params: index {param} is out of range for {count} arguments")
        positions.append(param % count)
    return positions


def _as_sources(args, positions):
    """The arguments as tensors, those to differentiate each a tensor of its own."""
    args = [_engine.convert_to_tensor(arg) if i in positions else arg for i, arg in enumerate(args)]
    seen = set()
    for position in positions:
        tensor = args[position]
        if tensor._id in seen:
            args[position] = _engine.op_function("identity")(tensor)
        seen.add(args[position]._id)
    return args


def _require_result(f, result):
    if result is None or any(leaf is None for leaf in nest.flatten(result)):
        name = getattr(f, "__name__", repr(f))
        raise ValueError(f"Cannot differentiate a function that returns None; did you forget to return a value from {name}?")
    return result


@public("tfe.value_and_gradients_function")
def value_and_gradients_function(f, params=None):
    """f ↦ a function that returns (f's value, list of the gradients of its sum with respect to its arguments).

    params: indices or names of the arguments to differentiate with respect to; all positional ones where None. The
    returned function takes f's arguments, and `dy`, the weights of the result's elements. Arguments that are not
    tensors are converted. Keyword arguments are passed on and get no gradient. Applied n times it gives the n-th derivative.
    Errors: ValueError where all arguments are keyword arguments: nothing would be differentiated.
    """

    @functools.wraps(f)
    def decorated(*args, dy=None, **kwargs):
        if kwargs and not args:
            raise ValueError(f"Functions to be differentiated cannot receive keyword arguments: {getattr(f, '__name__', f)!s} got "
                             f"{', '.join(kwargs)} by name; only arguments by position have gradients")
        positions = _positions(f, params, len(args))
        args = _as_sources(args, positions)
        sources = [args[position] for position in positions]
        tape = _engine.Tape()
        tape._start()
        try:
            for source in sources:
                tape.watch(source)
            result = _require_result(f, f(*args, **kwargs))
        finally:
            tape._stop()
        return result, tape._gradients(nest.flatten(result), sources, nest.flatten_like(result, dy))

    return decorated


@public("tfe.gradients_function")
def gradients_function(f, params=None):
    """f ↦ a function that returns the list of the gradients of f's sum with respect to its arguments.

    params as in value_and_gradients_function. Applied n times it gives the n-th derivative:
    gradients_function(lambda x: gradients_function(f)(x)[0]).
    """
    with_value = value_and_gradients_function(f, params)

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        return with_value(*args, **kwargs)[1]

    return decorated


@public("tfe.implicit_value_and_gradients")
def implicit_value_and_gradients(f):
    """f ↦ a function that returns (f's value, list of (gradient, variable)) for every trainable variable that f read,
    in the order of their construction. ValueError where f read none."""

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        tape = _engine.Tape()
        tape._start()
        try:
            result = _require_result(f, f(*args, **kwargs))
        finally:
            tape._stop()
        variables = in_order(tape.watched_variables())
        if not variables:
            raise _engine.InvalidArgumentError(
                f"{getattr(f, '__name__', f)!s} read no trainable variable, so it has no implicit gradients")
        return result, list(zip(tape._gradients(nest.flatten(result), variables, None, False, True), variables))

    return decorated


@public("tfe.implicit_gradients")
def implicit_gradients(f):
    """f ↦ a function that returns the list of (gradient, variable) for every trainable variable that f read, in the
    order of their construction. ValueError where f read none."""
    with_value = implicit_value_and_gradients(f)

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        return with_value(*args, **kwargs)[1]

    return decorated


@public("tfe.jacobian_function")
def jacobian_function(f, params=None):
    """f ↦ a function that returns the list of the Jacobians of f's result with respect to its arguments.

    f returns one tensor; each Jacobian has the shape of the result followed by the argument's. params as in
    value_and_gradients_function.
    """

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        positions = _positions(f, params, len(args))
        args = _as_sources(args, positions)
        sources = [args[position] for position in positions]
        with GradientTape() as tape:
            tape.watch(sources)
            result = _require_result(f, f(*args, **kwargs))
        return tape.jacobian(result, sources)

    return decorated


@public("tfe.hessian_function")
def hessian_function(f, param=0):
    """f ↦ a function that returns the Hessian of f, which gives a scalar, with respect to one argument.

    param: its index or name. The Hessian has the argument's shape twice. ValueError where f gives no scalar.
    """

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        outer, gradient, source = _taped_gradient(f, param, args, kwargs)
        return outer.jacobian(gradient, source, unconnected_gradients="zero")

    return decorated


@public("tfe.hessian_vector_product_function")
def hessian_vector_product_function(f, param=0):
    """f ↦ a function of f's arguments and `vector` that returns the Hessian of f, which gives a scalar, times vector.

    vector has the shape of the argument `param`, and so has the product. It takes a few times the cost of f: the Hessian
    itself is never there. Source: B. A. Pearlmutter, "Fast exact multiplication by the Hessian", 1994.
    """

    @functools.wraps(f)
    def decorated(*args, vector, **kwargs):
        outer, gradient, source = _taped_gradient(f, param, args, kwargs)
        return outer.gradient(gradient, source, output_gradients=vector, unconnected_gradients="zero")

    return decorated


def _taped_gradient(f, param, args, kwargs):
    """The gradient of f, which gives a scalar, with respect to one argument: (the tape that holds it, gradient, argument)."""
    position = _positions(f, param, len(args))[0]
    args = _as_sources(args, [position])
    source = args[position]
    with GradientTape() as outer:
        outer.watch(source)
        with GradientTape() as inner:
            inner.watch(source)
            result = _engine.convert_to_tensor(_require_result(f, f(*args, **kwargs)))
        if result.shape.ndims != 0:
            raise ValueError(f"{getattr(f, '__name__', f)!s} returned the shape {tuple(result.shape)}; a Hessian is that of a scalar")
        return outer, inner.gradient(result, source, unconnected_gradients="zero"), source
