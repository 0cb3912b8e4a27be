"""tf.compat.v1 and tf.compat.v2: both are the package itself, which has the names of both generations.

`import tapedeck.compat.v1 as tf` works, too.
"""
import sys as _sys

import tapedeck as _tapedeck

v1 = v2 = _tapedeck
_sys.modules["tapedeck.compat.v1"] = _sys.modules["tapedeck.compat.v2"] = _tapedeck
