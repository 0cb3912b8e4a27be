"""tf.compat.v1 and tf.compat.v2: both are the package itself, which has the names of both generations.

`import tapedeck.compat.v1 as tf` works, too.
"""
import sys

import tapedeck

v1 = v2 = tapedeck
sys.modules["tapedeck.compat.v1"] = sys.modules["tapedeck.compat.v2"] = tapedeck
