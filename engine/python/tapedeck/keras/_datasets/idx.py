"""Files in the IDX format of the MNIST database, compressed with gzip.

Source: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File formats".
"""
import gzip
import math
import os
import struct
import zlib

import numpy as np

from tapedeck._core.public import public

_UNSIGNED_BYTE = 0x08
_largest = 1 << 31
_RATIO = 1032  # the most bytes that a byte of deflate can become (zlib's FAQ)


def read(path, axes):
    """The array of bytes in an IDX file with that many axes, read only.

    FileNotFoundError where there is no such file; ValueError naming the file and what is wrong with it.
    """
    try:
        with gzip.open(path) as file:
            header = file.read(4 + 4 * axes)
            shape = _read_header(path, header, axes)
            count = math.prod(shape)
            if count > os.path.getsize(path) * _RATIO:
                raise ValueError(f"{path}: its header says {count} values in shape {shape}, more than {os.path.getsize(path)} bytes "
                                 "of gzip can become")
            data = file.read(count + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: not a whole gzip file: {error}") from error
    if len(data) != count:
        found = f"only {len(data)}" if len(data) < count else "more"
        raise ValueError(f"{path}: its header says {count} values in shape {shape}, but {found} are there")
    return np.frombuffer(data, np.uint8).reshape(shape)


def _read_header(path, header, axes):
    if len(header) < 4 or header[0] or header[1]:
        raise ValueError(f"{path}: not an IDX file: it starts with {header[:4].hex() or 'nothing'}, not 0000")
    if header[2] != _UNSIGNED_BYTE:
        raise ValueError(f"{path}: elements of type 0x{header[2]:02x}; only unsigned bytes (0x08) are expected")
    if header[3] != axes:
        raise ValueError(f"{path}: {header[3]} axes; {axes} are expected")
    if len(header) < 4 + 4 * axes:
        raise ValueError(f"{path}: its header is cut off after {len(header)} bytes")
    shape = struct.unpack(f">{axes}I", header[4:])
    if math.prod(shape) > _largest:
        raise ValueError(f"{path}: its header says shape {shape}, more than {_largest} values")
    return shape


DEBIAN_FOLDER = "/usr/share/datasets/fashion-mnist"


def folder():
    """Where the four files are: TAPEDECK_MNIST, else the folder of Debian's Fashion-MNIST."""
    named = os.environ.get("TAPEDECK_MNIST")
    if named:
        if not os.path.isdir(named):
            raise FileNotFoundError(f"TAPEDECK_MNIST names {named}, which is not a folder")
        return named
    if not os.path.isdir(DEBIAN_FOLDER):
        raise FileNotFoundError(f"there is no data set in {DEBIAN_FOLDER}: install the Debian package "
                                "dataset-fashion-mnist, or set TAPEDECK_MNIST to a folder with MNIST's four files")
    return DEBIAN_FOLDER


def load_pairs(where):
    """load_data() of the four files in that folder."""
    return _read_pair(where, "train"), _read_pair(where, "t10k")


def _read_pair(where, prefix):
    images = read(os.path.join(where, f"{prefix}-images-idx3-ubyte.gz"), 3)
    labels = read(os.path.join(where, f"{prefix}-labels-idx1-ubyte.gz"), 1)
    if len(images) != len(labels):
        raise ValueError(f"{where}: {len(images)} images but {len(labels)} labels in the files {prefix}-*")
    return images, labels


@public("keras.datasets.fashion_mnist.load_data")
def load_data():
    """((train images, train labels), (test images, test labels)) as arrays of bytes; images are (count, 28, 28).

    The files come from the folder that TAPEDECK_MNIST names, else from Debian's package dataset-fashion-mnist, whose
    format is the same. FileNotFoundError naming the package where neither is there; ValueError for a damaged file.
    """
    return load_pairs(folder())
