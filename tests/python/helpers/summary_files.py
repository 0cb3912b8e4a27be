"""For the tests of summaries: a folder of event files and their contents, and a PNG's pixels."""
import struct
import tempfile
import unittest

import event_reader
import numpy as np


def png_pixels(data):
    """The pixels of a PNG of 8 bits without interlacing, by zlib alone."""
    import zlib

    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, packed = 8, b""
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        part = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack_from(">IIBB", part)
        elif kind == b"IDAT":
            packed += part
        place += 12 + length
    assert bits == 8
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    rows, stride = zlib.decompress(packed), width * channels
    image, above = np.zeros((height, stride), np.uint8), np.zeros(stride, int)
    for y in range(height):
        kind, line = rows[y * (stride + 1)], np.frombuffer(rows, np.uint8, stride, y * (stride + 1) + 1).astype(int)
        out = np.zeros(stride, int)
        for x in range(stride):
            left, up, corner = (out[x - channels] if x >= channels else 0), above[x], (above[x - channels] if x >= channels else 0)
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda each: abs(guess - each))
            out[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        image[y] = above = out
    return image.reshape(height, width, channels)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def written(self):
        """(step, value) of all that is in the files."""
        return [(event.step, value) for event in event_reader.events(self.folder) for value in event.values]

    def value(self):
        (step, value), = self.written()
        return step, value
