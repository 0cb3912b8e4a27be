"""The C++ program samples/cpp/serve.cpp, as tests run it."""
import os
import re
import subprocess

import numpy as np

import tapedeck as tf


def write_png(path, pixels):
    """A grey picture of (rows, columns) of uint8. Returns the path."""
    with open(path, "wb") as file:
        file.write(tf.io.encode_png(np.asarray(pixels, np.uint8)[..., np.newaxis]).numpy())
    return path


def run_server(*arguments):
    """(exit code, stdout, stderr)"""
    program = os.path.join(os.environ["TAPEDECK_BUILD_DIR"], "samples", "cpp", "tapedeck_serve")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def served(folder, *pictures):
    """A line for each picture, as "PATH: KIND (CHANCE %)"."""
    code, printed, errors = run_server(folder, *pictures)
    if code != 0 or errors:
        raise AssertionError(f"exit code {code}: {errors}")
    first, *lines = printed.splitlines()
    if not re.fullmatch(r"loaded in [0-9.]+ ms", first) or len(lines) != len(pictures):
        raise AssertionError(printed)
    return lines
