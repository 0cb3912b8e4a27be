"""tf.keras.preprocessing: words as numbers, and pictures as arrays."""
import os
import tempfile
import unittest

import numpy as np

import tapedeck as tf

try:
    import PIL
except ImportError:
    PIL = None

image = tf.keras.preprocessing.image


class Words(unittest.TestCase):
    def fitted(self, **arguments):
        tokenizer = tf.keras.preprocessing.text.Tokenizer(**arguments)
        tokenizer.fit_on_texts(["The cat sat, the end", "the dog Sat!"])
        return tokenizer

    def test_a_text_is_cut_into_words(self):
        cut = tf.keras.preprocessing.text.text_to_word_sequence
        self.assertEqual(cut("Hello, you!  a_b"), ["hello", "you", "a", "b"])
        self.assertEqual(cut("A-B", filters="", lower=False, split="-"), ["A", "B"])

    def test_frequent_words_have_small_numbers(self):
        tokenizer = self.fitted()
        self.assertEqual(tokenizer.word_index, {"the": 1, "sat": 2, "cat": 3, "end": 4, "dog": 5})
        self.assertEqual((tokenizer.word_counts["the"], tokenizer.word_docs["the"], tokenizer.document_count), (3, 2, 2))
        self.assertEqual(tokenizer.texts_to_sequences(["the dog flew", "Cat"]), [[1, 5], [3]])
        self.assertEqual(tokenizer.sequences_to_texts([[1, 5, 99]]), ["the dog"])

    def test_words_from_num_words_on_are_left_out_or_unknown(self):
        self.assertEqual(self.fitted(num_words=3).texts_to_sequences(["the cat sat"]), [[1, 2]])
        tokenizer = self.fitted(num_words=3, oov_token="?")
        self.assertEqual(tokenizer.texts_to_sequences(["the cat flew"]), [[2, 1, 1]])
        self.assertEqual(tokenizer.sequences_to_texts([[2, 4]]), ["the ?"])

    def test_characters_are_words_where_asked_for(self):
        tokenizer = tf.keras.preprocessing.text.Tokenizer(char_level=True, lower=False)
        tokenizer.fit_on_texts(["abBb"])
        self.assertEqual(tokenizer.texts_to_sequences(["Bab"]), [[3, 2, 1]])

    def test_texts_are_rows_of_a_matrix(self):
        tokenizer = self.fitted(num_words=4)
        for mode, row in (("binary", [0, 1, 0, 1]), ("count", [0, 2, 0, 1]), ("freq", [0, 2 / 3, 0, 1 / 3])):
            self.assertEqual(tokenizer.texts_to_matrix(["the the cat"], mode).tolist(), [row])
        with self.assertRaisesRegex(ValueError, "mode is 'idf'"):
            tokenizer.texts_to_matrix([""], "idf")
        with self.assertRaisesRegex(ValueError, "fit_on_texts first"):
            tf.keras.preprocessing.text.Tokenizer().texts_to_matrix(["a"])


class Pictures(unittest.TestCase):
    def test_an_array_gets_channels(self):
        self.assertEqual(image.img_to_array(np.zeros([2, 3], np.uint8)).shape, (2, 3, 1))
        self.assertEqual(image.img_to_array(np.zeros([2, 3, 4]), "channels_first").shape, (4, 2, 3))
        self.assertEqual(image.img_to_array(np.zeros([2, 3])).dtype, np.float32)
        with self.assertRaisesRegex(ValueError, "has shape \\(2,\\)"):
            image.img_to_array([1, 2])

    @unittest.skipUnless(PIL, "needs Pillow: python3-pil")
    def test_what_is_saved_is_loaded(self):
        pixels = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.png")
            tf.keras.utils.save_img(path, pixels, scale=False)
            self.assertEqual(image.img_to_array(image.load_img(path)).tolist(), pixels.tolist())
            self.assertEqual(image.load_img(path, "grayscale", (3, 5)).size, (5, 3))
            middle = image.load_img(path, target_size=(1, 1), keep_aspect_ratio=True, interpolation="box")
            np.testing.assert_allclose(image.img_to_array(middle)[0, 0], pixels[:, 1:3].mean((0, 1)), atol=1)
            with self.assertRaisesRegex(ValueError, "color_mode is 'cmyk'"):
                image.load_img(path, "cmyk")

    @unittest.skipUnless(PIL, "needs Pillow: python3-pil")
    def test_values_are_scaled_to_bytes(self):
        made = tf.keras.utils.array_to_img([[[-1.], [1.]]])
        self.assertEqual((made.mode, np.asarray(made).tolist()), ("L", [[0, 255]]))
        with self.assertRaisesRegex(ValueError, "2 channels"):
            tf.keras.utils.array_to_img(np.zeros([1, 1, 2]))


if __name__ == "__main__":
    unittest.main()
