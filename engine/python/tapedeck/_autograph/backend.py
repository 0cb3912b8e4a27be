"""What makes graphs of branches and loops. Where nothing is traced, no value is symbolic and none of this is asked."""


class Backend:
    """Nothing is ever traced; a class that traces overrides all methods."""

    def is_symbolic(self, value):
        """Whether the value is a tensor (or a variable) whose elements are known only when the graph runs."""
        return False

    def branch(self, predicate, true_fn, false_fn):
        """Traces both functions, true_fn first; each is called once, without arguments, and returns a list of tensors, symbolic or
        not. predicate: a scalar bool tensor. Returns: the list of results, tensors of the graph around."""
        raise NotImplementedError

    def loop(self, variables, condition, body, shapes=()):
        """variables = body(*variables) as long as condition(*variables) holds, from a list of tensors. condition returns a scalar
        bool tensor, body a list of tensors of the variables' dtypes and shapes; each is called once. shapes: of each variable
        in all iterations, None where it keeps the one that it has; or nothing. Returns: the last values."""
        raise NotImplementedError

    def discarded(self, function, variables):
        """Calls function(*symbolic tensors like the variables) in a trace that is thrown away. What it sees tells dtypes and shapes."""
        raise NotImplementedError


_plugged = Backend()


def plug_in(backend):
    """Makes the backend the one that all threads ask. Returns the one before."""
    global _plugged
    before, _plugged = _plugged, backend
    return before


def backend():
    """The backend that is plugged in."""
    return _plugged


def is_symbolic(value):
    """Whether the value is known only when a graph runs. The one question that decides between Python and a graph."""
    return _plugged.is_symbolic(value)
