"""What the package says of names that it does not have."""
import traceback
import unittest

import tapedeck as tf


class MissingNames(unittest.TestCase):
    def check(self, module, name, pattern):
        with self.assertRaisesRegex(AttributeError, pattern):
            getattr(module, name)

    def test_the_sentence_names_the_nearest(self):
        self.check(tf, "flor", r"^tf\.flor is not in Tapedeck; nearest: tf\.floor")
        self.check(tf.nn, "relu7", r"^tf\.nn\.relu7 is not in Tapedeck; nearest: tf\.nn\.relu")
        self.check(tf, "Matmul", r"nearest: tf\.matmul")
        self.check(tf, "relu6", r"nearest: tf\.nn\.relu6")
        self.check(tf, "qqqqqqqq", r"^tf\.qqqqqqqq is not in Tapedeck$")

    def test_no_internal_file_is_suggested(self):
        for name in ("functiona", "composite", "nameSpaces", "refusal", "missin", "selectionz"):
            try:
                getattr(tf, name)
            except AttributeError as error:
                for internal in tf.namespaces._INTERNAL:
                    self.assertNotRegex(str(error), rf"tf\.{internal}\b")

    def test_a_traceback_shows_the_sentence_and_no_other_suggestion(self):
        try:
            tf.functionl
        except AttributeError as error:
            text = "".join(traceback.format_exception(error))
        self.assertIn("AttributeError: tf.functionl is not in Tapedeck", text)
        self.assertNotIn("Did you mean", text)

    def test_hasattr_and_imports_say_no(self):
        self.assertFalse(hasattr(tf, "flor") or hasattr(tf.nn, "flor"))
        with self.assertRaises(ImportError):
            from tapedeck import flor  # noqa: F401
        self.assertEqual(getattr(tf, "flor", 5), 5)


if __name__ == "__main__":
    unittest.main()
