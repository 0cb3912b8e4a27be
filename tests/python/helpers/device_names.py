"""TensorFlow's full names of devices, as a tensor's `device` has them."""
_PROCESS = "/job:localhost/replica:0/task:0/device:"
CPU, GPU, SECOND_GPU = (_PROCESS + short for short in ("CPU:0", "GPU:0", "GPU:1"))


def full(short):
    """The full name of "/cpu:0"."""
    return _PROCESS + short.lstrip("/").upper()
