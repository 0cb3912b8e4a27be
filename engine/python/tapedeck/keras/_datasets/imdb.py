"""25,000 reviews of films to train and to test, as sequences of word numbers, and whether they are good: Keras' file imdb.npz."""
from tapedeck._core.public import public
from tapedeck.keras._datasets import archives as _archives


@public("keras.datasets.imdb.load_data")
def load_data(path="imdb.npz", num_words=None, skip_top=0, maxlen=None, seed=113, start_char=1, oov_char=2, index_from=3, **kwargs):
    """((x_train, y_train), (x_test, y_test)); x are arrays of lists.

    num_words, skip_top: words above and below become oov_char, or are left out where that is None; maxlen: longer ones are left
    out; start_char begins each; index_from is added to each word. FileNotFoundError saying where the file is looked for; ValueError
    for a damaged one.
    """
    return _archives.sequences("imdb", path, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from)


@public("keras.datasets.imdb.get_word_index")
def get_word_index(path="imdb_word_index.json"):
    """A dict of words to numbers."""
    return _archives.word_index("imdb", path)
