"""Tapedeck's eager tensor engine, in TensorFlow eager's shape: `import tapedeck as tf`, `from tapedeck import tfe`.

Names come from the rows of the engine's registry (tf.matmul, tf.math.log, …) and from `@public`, which marks each
definition; namespaces.py puts both in place.
"""
import os as _os

from tapedeck import _contents  # noqa: F401
from tapedeck._core import namespaces as _namespaces

__version__ = "0.2.0"
_namespaces.install()

if _os.environ.get("TAPEDECK_DEBUG") == "1":
    from tapedeck._session import attachable as _attachable
    _attachable.start()
