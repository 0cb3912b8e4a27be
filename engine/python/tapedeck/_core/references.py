"""References to tensors and variables, which are equal where they refer to the same one: keys of dicts and elements of sets."""


class Reference:
    """What tensor.ref() gives: equal to another reference to the same tensor or variable, and to nothing else."""

    __slots__ = ("_referent",)

    def __init__(self, referent):
        self._referent = referent

    def deref(self):
        """The tensor or variable."""
        return self._referent

    def __eq__(self, other):
        return isinstance(other, Reference) and self._referent is other._referent

    def __hash__(self):
        return id(self._referent)

    def __repr__(self):
        return f"<Reference wrapping {self._referent!r}>"
