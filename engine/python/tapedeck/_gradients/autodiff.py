"""tf.autodiff: forward mode."""
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.public import public
from tapedeck._gradients.tape import unconnected_as_zero, UnconnectedGradients


@public("autodiff.ForwardAccumulator")
class ForwardAccumulator:
    """Jacobian-vector products: how results change when `primals` move along `tangents`.

        with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
            y = f(x)
        accumulator.jvp(y)              # J·v

    primals: a tensor, a variable, or a nested structure of them; tangents: the same structure, each tangent of its
    primal's shape and dtype. Accumulators and tapes nest: a GradientTape inside gives Hessian-vector products.

    The product is made of two reverse passes (engine/tape/forward.h), so it needs no second rule per op, and it works for
    custom gradients.
    """

    def __init__(self, primals, tangents):
        self._primals = nest.flatten(primals)
        if tangents is None:
            raise ValueError("ForwardAccumulator: tangents is None; it needs one tangent for each primal")
        given = nest.flatten_like(primals, tangents)
        if len(given) != len(self._primals):
            raise ValueError(f"ForwardAccumulator: {len(self._primals)} primals, but {len(given)} tangents")
        self._tangents = []
        seen = set()
        for primal, tangent in zip(self._primals, given):
            if id(primal) in seen:
                raise ValueError("ForwardAccumulator: a tensor or variable is there twice among the primals")
            seen.add(id(primal))
            if not isinstance(primal, (_engine.Tensor, _engine.Variable)):
                raise TypeError(f"ForwardAccumulator: a primal is a tensor or a variable, not {type(primal).__name__}")
            tangent = _engine.convert_to_tensor(tangent, dtype=primal.dtype)
            if tuple(tangent.shape) != tuple(primal.shape):
                raise ValueError(f"ForwardAccumulator: a tangent has the shape {tuple(tangent.shape)}, "
                                 f"its primal {tuple(primal.shape)}")
            self._tangents.append(tangent)
        self._tape = _engine.Tape(True, False)
        self._entered = False

    def __enter__(self):
        if self._tape._active():
            raise ValueError("ForwardAccumulator: it is active already")
        self._tape._start()
        for primal in self._primals:
            self._tape.watch(primal)
        self._entered = True
        return self

    def __exit__(self, *exception):
        if self._tape._active():
            self._tape._stop()

    def jvp(self, primals, unconnected_gradients=UnconnectedGradients.NONE):
        """J·tangents for each tensor of `primals`, a nested structure of results, in its form.

        None, or zeros with unconnected_gradients="zero", for a tensor that does not depend on the accumulator's primals.
        """
        if not self._entered:
            raise ValueError("ForwardAccumulator: nothing was recorded; compute inside `with ForwardAccumulator(…)`")
        zero = unconnected_as_zero(unconnected_gradients)
        active = self._tape._active()
        if active:  # what follows is no part of what it records
            self._tape._stop()
        try:
            return nest.map_structure(lambda target: self._jvp(target, zero), primals)
        finally:
            if active:
                self._tape._start()

    def _jvp(self, target, zero):
        target = _engine.convert_to_tensor(target)
        product = self._tape._forward_product(target, self._primals, self._tangents) if target.dtype.is_floating else None
        return _engine.op_function("zeros_like")(target) if product is None and zero else product
