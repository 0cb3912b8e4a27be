"""samples/cpp/serve.cpp: a saved classifier in a C++ program without Python."""
import os
import unittest

import numpy as np

import serving
import tapedeck as tf
from checkpoint_objects import InFolder


class Shades(tf.Module):
    """Says whether a picture of 4 by 6 pixels is dark or bright."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 6, 1], tf.uint8, name="pictures")])
    def classify(self, pictures):
        chances = tf.reduce_mean(tf.cast(pictures, tf.float32), [1, 2]) / 255 * [-1., 1] + [1., 0]
        return {"kind": tf.gather(tf.constant(["dark", "bright"]), tf.argmax(chances, axis=1)), "chance": tf.reduce_max(chances, axis=1)}


class Serving(InFolder):
    def setUp(self):
        super().setUp()
        self.model = os.path.join(self.folder, "model")
        tf.saved_model.save(Shades(), self.model)

    def picture(self, name, value, shape=(4, 6)):
        return serving.write_png(os.path.join(self.folder, name), np.full(shape, value))

    def test_each_picture_is_classified(self):
        dark, bright = self.picture("dark.png", 51), self.picture("bright.png", 255)
        self.assertEqual(serving.served(self.model, dark, bright), [f"{dark}: dark (80.0 %)", f"{bright}: bright (100.0 %)"])

    def test_errors_name_what_is_wrong(self):
        dark, large = self.picture("dark.png", 0), self.picture("large.png", 0, (5, 6))
        broken, missing = os.path.join(self.folder, "broken.png"), os.path.join(self.folder, "missing.png")
        with open(dark, "rb") as whole, open(broken, "wb") as part:
            part.write(whole.read()[:40])
        code, printed, errors = serving.run_server(self.model, large, broken, missing, dark)
        self.assertEqual((code, len(printed.splitlines())), (1, 2))
        self.assertIn(f"{large}: it has 5 rows of 6 pixels; the model takes 4 of 6\n", errors)
        self.assertRegex(errors, f"{broken}: .+\n{missing}: it cannot be read\n")
        code, _, errors = serving.run_server(os.path.join(self.folder, "none"), dark)
        self.assertEqual((code, errors), (1, f"{self.folder}/none: there is no such folder\n"))
        self.assertEqual(serving.run_server(self.model)[0], 2)
        with open(os.path.join(self.model, "model.json"), "r+b") as file:
            file.truncate(500)
        code, _, errors = serving.run_server(self.model, dark)
        self.assertEqual(code, 1)
        self.assertIn("model.json: is damaged: its bytes have the checksum", errors)


if __name__ == "__main__":
    unittest.main()
