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

    def test_what_is_suggested_is_there_and_public(self):
        for name in ("functiona", "composite", "nameSpaces", "refusal", "missin", "selectionz", "arrey", "nne"):
            with self.assertRaises(AttributeError) as caught:
                getattr(tf, name)
            for path in str(caught.exception).partition("nearest: ")[2].split(", "):
                if path:
                    namespace, _, suggested = path.rpartition(".")
                    self.assertIn(suggested, eval(namespace, {"tf": tf, "tfe": tf.tfe}).__all__, path)

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
