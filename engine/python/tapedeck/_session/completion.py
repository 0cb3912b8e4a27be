"""Completion that outlives damaged files of its cache.

Jedi's parser keeps what it has parsed in files that every session shares. A session that ends while it writes one leaves part
of it, of which reading raises; IPython takes that for "nothing to complete" from then on.
"""


def forgive_damaged_files():
    """A file that can't be read is parsed again, which writes it anew."""
    try:
        from parso import grammar  # may be missing: IPython completes without it too
        load = grammar.load_module
    except (ImportError, AttributeError):  # another completer, or a parser that is put together in another way
        return

    def load_if_whole(*arguments, **options):
        try:
            return load(*arguments, **options)
        except Exception:  # a pickle with a piece missing raises whatever it comes to
            return None

    grammar.load_module = load_if_whole
