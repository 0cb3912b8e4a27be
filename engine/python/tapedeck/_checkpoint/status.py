"""What restore() returns: how far a checkpoint has come into objects."""
from tapedeck import _engine
from tapedeck._checkpoint.graph import Collected


class _LoadStatus:
    """Common to all."""

    def run_restore_ops(self, session=None):
        """Does nothing: values are restored when restore() is called, or when their variables are made."""

    def initialize_or_restore(self, session=None):
        """Does nothing: variables have values when they are made."""

    def expect_partial(self):
        """Says that parts of the checkpoint, or of the objects, are not to be matched: no warnings. Returns the status."""
        return self


class CheckpointLoadStatus(_LoadStatus):
    """Of an object-based checkpoint. restored: a Restoration; objects: a function that collects all objects now."""

    def __init__(self, restoration, objects):
        self._restoration, self._objects = restoration, objects

    def assert_consumed(self):
        """All values of the checkpoint are in objects, and all objects got theirs. Returns the status.

        AssertionError naming what is not.
        """
        self.assert_existing_objects_matched()
        pending = self._restoration.pending()
        if pending:
            names = ", ".join(self._restoration.graph.name_of(number) for number in pending[:10])
            raise AssertionError(f"Unresolved object in checkpoint {self._restoration.path}: {names}"
                                 + (f" and {len(pending) - 10} others" if len(pending) > 10 else ""))
        return self

    def assert_existing_objects_matched(self):
        """All objects that there are now got their values from the checkpoint. Returns the status. AssertionError naming others."""
        unmatched = self._unmatched()
        if unmatched:
            raise AssertionError(f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to "
                                 f"changes in the Python program: {', '.join(unmatched[:10])}"
                                 + (" …" if len(unmatched) > 10 else ""))
        return self

    def assert_nontrivial_match(self):
        """Something besides the root was matched. Returns the status. AssertionError otherwise."""
        if self._restoration.bound() <= 1:
            unmatched = self._unmatched()
            raise AssertionError("Nothing except the root object matched a checkpointed value. These have no matching value: "
                                 + ", ".join(unmatched[:10]) if unmatched else
                                 "Nothing to load. No dependencies have been added to the root object yet.")
        return self

    def expect_partial(self):
        """Says that parts of the checkpoint, or of the objects, are not to be matched: no warnings. Returns the status."""
        self._restoration.unrestored_warning.expect_partial = True
        return self

    def _unmatched(self):
        """The paths of objects that have values, and not from here."""
        self._restoration.adopt_slots()
        collected, graph, missing = self._objects(), self._restoration.graph, []
        for thing, path in zip(collected.objects, collected.paths):
            number = self._restoration.number_of(thing)
            if (number is None or not graph.has_values(number)) and (isinstance(thing, _engine.Variable) or thing._own_state()):
                kind = thing.name if isinstance(thing, _engine.Variable) else type(thing).__name__
                missing.append(f"{path or 'the root'} ({kind})")
        return missing


class InitializationOnlyStatus(_LoadStatus):
    """Of restore(None)."""

    _WORDS = "No checkpoint specified (save_path=None); nothing is being restored."

    def assert_consumed(self):
        """AssertionError."""
        raise AssertionError(self._WORDS)

    def assert_existing_objects_matched(self):
        """AssertionError."""
        raise AssertionError(self._WORDS)

    def assert_nontrivial_match(self):
        """AssertionError."""
        raise AssertionError(self._WORDS)

    def run_restore_ops(self, session=None):
        """AssertionError."""
        raise AssertionError("No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore).")


class NameBasedSaverStatus(_LoadStatus):
    """Of a file of named tensors without a graph of objects, as tf.train.Saver and other tools write them."""

    def __init__(self, path, objects, restored, unused):
        """objects: as above; restored: the variables that got a value; unused: the file's names that no variable has."""
        self._path, self._objects, self._restored, self._unused = path, objects, list(restored), unused

    def assert_consumed(self):
        """All tensors of the file are in variables, and all variables got one. Returns the status. AssertionError naming others."""
        if self._unused:
            raise AssertionError(f"Some objects had attributes which were not restored: {', '.join(sorted(self._unused)[:10])}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self):
        """All variables got their values from the file. Returns the status. AssertionError naming others."""
        restored = set(map(id, self._restored))
        for thing, path in self._variables():
            if id(thing) not in restored and path != "save_counter":
                raise AssertionError(f"Object not restored: {path} ({thing.name})")
        return self

    def assert_nontrivial_match(self):
        """At least one variable got its value from the file. Returns the status. AssertionError otherwise."""
        if not self._restored:
            raise AssertionError(f"Nothing of {self._path} matched a variable by name")
        return self

    def _variables(self):
        collected = self._objects()
        return [(thing, path) for thing, path in zip(collected.objects, collected.paths) if isinstance(thing, _engine.Variable)]


def objects_below(root, attached):
    """A function that collects the objects below a root as they are when it is called."""
    return lambda: Collected(root, attached())
