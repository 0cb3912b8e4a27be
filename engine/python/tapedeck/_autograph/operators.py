"""The operators that converted code calls, under the name ag__. Each is Python's own construct, with its order of evaluation, its
truth of any object and its exceptions, unless what decides is symbolic (backend.py)."""
from tapedeck._autograph.branches import and_, compare, either, if_exp, if_stmt, not_, or_, returned
from tapedeck._autograph.calls import assert_stmt, callee, converted_call, list_append, print_
from tapedeck._autograph.loops import for_stmt, while_stmt
from tapedeck._autograph.state import NOT_THERE, Undefined, value_of

__all__ = ["NOT_THERE", "Undefined", "and_", "assert_stmt", "callee", "compare", "converted_call", "either", "for_stmt", "if_exp",
           "if_stmt", "list_append", "not_", "or_", "print_", "returned", "value_of", "while_stmt"]
