"""tf.keras.preprocessing.text: texts as lists of words' numbers."""
import collections

import numpy as np

from tapedeck._core.arguments import text as _text
from tapedeck._core.public import public


_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


@public("keras.preprocessing.text.text_to_word_sequence")
def text_to_word_sequence(input_text, filters=_FILTERS, lower=True, split=" "):
    """The words of a text, as a list.

    filters: the characters that are taken as `split`, which parts the words; lower: whether letters are made small.
    """
    text = _text(input_text, "text_to_word_sequence: input_text")
    text = text.lower() if lower else text
    return [word for word in text.translate({ord(each): split for each in filters}).split(split) if word]


@public("keras.preprocessing.text.Tokenizer")
class Tokenizer:
    """Numbers words by how often they come in the texts that fit_on_texts() sees: the most frequent one is 1, and those of the same
    number are in the order in which they come.

    num_words: only words below it are kept in sequences, None for all; filters, lower, split: text_to_word_sequence's;
    char_level: whether each character is a word; oov_token: a word that replaces unknown ones, with the number 1; analyzer: a
    function of a text to its words, instead of these.
    """

    def __init__(self, num_words=None, filters=_FILTERS, lower=True, split=" ", char_level=False, oov_token=None, analyzer=None):
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.word_counts, self.word_docs = collections.OrderedDict(), collections.defaultdict(int)
        self.word_index, self.index_word = {}, {}
        self.document_count = 0

    def _words(self, text):
        if isinstance(text, (list, tuple)):
            return [str(word).lower() for word in text] if self.lower else list(text)
        if self.char_level:
            return list(text.lower() if self.lower else text)
        return (self.analyzer(text) if self.analyzer is not None else
                text_to_word_sequence(text, self.filters, self.lower, self.split))

    def fit_on_texts(self, texts):
        """Counts the words of texts, or of lists of words, and numbers all that it has counted."""
        for text in texts:
            words = self._words(text)
            self.document_count += 1
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        by_count = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        first = [] if self.oov_token is None else [self.oov_token]
        self.word_index = {word: number for number, word in enumerate(first + by_count, 1)}
        self.index_word = {number: word for word, number in self.word_index.items()}

    def texts_to_sequences(self, texts):
        """A list of words' numbers for each text. Unknown words, and those from num_words on, are oov_token's, or left out."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        """texts_to_sequences, one list after the other."""
        unknown = self.word_index.get(self.oov_token) if self.oov_token is not None else None
        for text in texts:
            numbers = (self.word_index.get(word) for word in self._words(text))
            kept = (number if number is not None and not (self.num_words and number >= self.num_words) else unknown
                    for number in numbers)
            yield [number for number in kept if number is not None]

    def sequences_to_texts(self, sequences):
        """The words of the numbers, with blanks between them, for each list."""
        unknown = self.oov_token

        def words(sequence):
            for number in sequence:
                word = self.index_word.get(number)
                if word is None or (self.num_words and number >= self.num_words):
                    word = unknown
                if word is not None:
                    yield word
        return [" ".join(words(sequence)) for sequence in sequences]

    def texts_to_matrix(self, texts, mode="binary"):
        """sequences_to_matrix of texts_to_sequences."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """A row for each list, a column for each number: float64, (lists, num_words or the words and 1).

        mode: 'binary' (1 where the word is there), 'count', or 'freq' (the count by the list's length). Errors: ValueError for
        another mode, and for lists before any text was fitted where num_words is None.
        """
        if mode not in ("binary", "count", "freq"):
            raise ValueError(f"sequences_to_matrix: mode is {mode!r}; must be 'binary', 'count' or 'freq'")
        if not self.num_words and not self.word_index:
            raise ValueError("sequences_to_matrix: give num_words, or call fit_on_texts first")
        matrix = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, sequence in zip(matrix, sequences):
            for number in sequence:
                if number < len(row):
                    row[number] += 1
            if mode == "binary":
                np.minimum(row, 1, out=row)
            elif mode == "freq" and sequence:
                row /= len(sequence)
        return matrix
