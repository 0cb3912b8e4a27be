"""11,228 newswires as sequences of word numbers, and their topics: Keras' file reuters.npz."""
from tapedeck._core.public import public
from tapedeck.keras._datasets import archives as _archives


@public("keras.datasets.reuters.load_data")
def load_data(path="reuters.npz", num_words=None, skip_top=0, maxlen=None, test_split=0.2, seed=113, start_char=1, oov_char=2,
              index_from=3):
    """((x_train, y_train), (x_test, y_test)); x are arrays of lists. test_split: the part that is for testing. The other arguments
    and the errors are imdb.load_data's."""
    return _archives.sequences("reuters", path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from, test_split)


@public("keras.datasets.reuters.get_word_index")
def get_word_index(path="reuters_word_index.json"):
    """A dict of words to numbers."""
    return _archives.word_index("reuters", path)
