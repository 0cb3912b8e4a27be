"""TensorFlow's module of that name, whose class reads the times that a run has measured."""
from tapedeck import _engine


class Timeline:
    """Refuses: UnimplementedError. Session.run measures nothing by itself."""

    def __init__(self, step_stats=None, graph=None):
        raise _engine.UnimplementedError("Timeline: Session.run leaves run_metadata as it is; ops and their times are recorded by "
                                         "--trace FILE, and shown in *Time*")
