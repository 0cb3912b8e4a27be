"""What a function says of its parameters."""
import inspect


class FunctionSpec:
    """A tf.function's parameters, as TensorFlow's `function_spec` has them."""

    def __init__(self, name, func, signature, input_signature, is_method, jit_compile):
        self.name, self.signature, self.input_signature = name, signature, input_signature
        self.is_method, self.jit_compile = is_method, jit_compile
        self._func = func

    @property
    def fullargspec(self):
        """inspect.getfullargspec of the Python function."""
        return inspect.getfullargspec(self._func)

    def _names(self, *kinds):
        return [each.name for each in self.signature.parameters.values() if each.kind in kinds] if self.signature else []

    @property
    def arg_names(self):
        """Names of the positional parameters, without a method's self."""
        return self._names(inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

    @property
    def vararg_name(self):
        """The name of *args; None where there is none."""
        return next(iter(self._names(inspect.Parameter.VAR_POSITIONAL)), None)

    @property
    def kwonly_names(self):
        """Names of the parameters that are keywords alone."""
        return self._names(inspect.Parameter.KEYWORD_ONLY)

    def signature_summary(self, default_values=False):
        """The call as text: "f(x, y)", with default_values "f(x, y=2)"."""
        shown = []
        for each in self.signature.parameters.values() if self.signature else ():
            star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
            value = f"={each.default!r}" if default_values and each.default is not each.empty else ""
            shown.append(f"{star}{each.name}{value}")
        return f"{self.name}({', '.join(shown)})"

    def __repr__(self):
        return f"<FunctionSpec {self.name}{self.signature}>"
