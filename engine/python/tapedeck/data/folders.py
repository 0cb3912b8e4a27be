"""Data sets of folders and arrays, as tf.keras.utils makes them."""
import os

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.public import public
from tapedeck._image.sizes import resize
from tapedeck.data.dataset import DatasetV2
from tapedeck.data.functions import runs_eagerly

_IMAGES = (".bmp", ".jpeg", ".jpg", ".png")


def _class_folders(function, directory, class_names):
    found = sorted(each for each in os.listdir(directory) if os.path.isdir(os.path.join(directory, each)))
    if class_names is None:
        return found
    if set(class_names) != set(found):
        raise ValueError(f"{function}: class_names is {list(class_names)}; the folders in {directory} are {found}")
    return list(class_names)


def _files_in(folder, endings, follow_links):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(folder, followlinks=follow_links)
                  for name in names if name.lower().endswith(endings))


def _index(function, directory, labels, class_names, endings, follow_links):
    """(paths, their numbers of classes or None, class names)."""
    if not os.path.isdir(directory):
        raise _engine.NotFoundError(f"{function}: there is no folder {directory}")
    if labels is None:
        return _files_in(directory, endings, follow_links), None, []
    if labels == "inferred":
        names = _class_folders(function, directory, class_names)
        pairs = [(path, number) for number, name in enumerate(names)
                 for path in _files_in(os.path.join(directory, name), endings, follow_links)]
        return [path for path, _ in pairs], [number for _, number in pairs], names
    paths = _files_in(directory, endings, follow_links)
    if len(labels) != len(paths):
        raise ValueError(f"{function}: {len(labels)} labels for the {len(paths)} files in {directory}")
    return paths, list(labels), list(class_names or map(str, sorted(set(labels))))


def _subset(function, values, validation_split, subset):
    if (validation_split is None) != (subset is None):
        raise ValueError(f"{function}: validation_split is {validation_split!r} and subset is {subset!r}; give both or neither")
    if subset is None:
        return values
    if not 0 < validation_split < 1:
        raise ValueError(f"{function}: validation_split is {validation_split}; must be between 0 and 1")
    count = len(values) - int(validation_split * len(values))
    parts = {"training": values[:count], "validation": values[count:]}
    if subset not in parts:
        raise ValueError(f"{function}: subset is {subset!r}; must be 'training' or 'validation'")
    return parts[subset]


def _labels(function, numbers, mode, classes):
    """The labels as an array; None for none."""
    if mode is None or numbers is None:
        return None
    kinds = {"int": lambda: np.array(numbers, np.int32), "categorical": lambda: np.eye(classes, dtype=np.float32)[numbers],
             "binary": lambda: np.array(numbers, np.float32).reshape(-1, 1)}
    if mode not in kinds:
        raise ValueError(f"{function}: label_mode is {mode!r}; must be 'int', 'categorical', 'binary' or None")
    if mode == "binary" and classes != 2:
        raise ValueError(f"{function}: label_mode is 'binary' and there are {classes} classes; needs 2")
    return kinds[mode]()


def _from_files(function, found, load, label_mode, batch_size, shuffle, seed, validation_split, subset):
    """A data set of what load(path) makes of each file, and its label. The order is drawn before it is split."""
    paths, numbers, names = found
    if not paths:
        raise ValueError(f"{function}: there are no files of a known kind")
    order = np.arange(len(paths))
    if shuffle:
        if subset is not None and seed is None:
            raise ValueError(f"{function}: shuffle with a validation_split needs a seed, or both parts may have the same files")
        np.random.default_rng(seed).shuffle(order)
    order = _subset(function, order, validation_split, subset)
    labels = _labels(function, numbers, label_mode, len(names))
    paths = [paths[place] for place in order]
    places = DatasetV2.range(len(paths))
    if shuffle:
        places = places.shuffle(len(paths) if batch_size is None else min(len(paths), 8 * batch_size), seed)
    if labels is None:
        dataset = places.map(runs_eagerly(lambda place: load(paths[int(place)])))
    else:
        labels = labels[order]
        dataset = places.map(runs_eagerly(lambda place: (load(paths[int(place)]), labels[int(place)])))
    dataset = (dataset if batch_size is None else dataset.batch(batch_size)).prefetch(2)
    dataset.class_names, dataset.file_paths = names, paths
    return dataset


@public("keras.preprocessing.image_dataset_from_directory", "keras.utils.image_dataset_from_directory")
def image_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, color_mode="rgb", batch_size=32,
                                 image_size=(256, 256), shuffle=True, seed=None, validation_split=None, subset=None,
                                 interpolation="bilinear", follow_links=False, crop_to_aspect_ratio=False,
                                 pad_to_aspect_ratio=False,
                                 data_format=None, verbose=True):
    """Batches of the images in a folder and of their labels: float32, (batch, height, width, channels), between 0 and 255.

    labels: "inferred" from the folders inside, whose names are the classes, a list for the files in the order of their paths, or
    None; label_mode: "int", "categorical", "binary" or None; color_mode: "rgb", "rgba" or "grayscale"; image_size: (height, width),
    to which they are resized. The data set's class_names and file_paths are attributes. Errors: ValueError for arguments that do
    not fit, and where there is no image; NotFoundError where there is no folder.
    """
    function = "image_dataset_from_directory"
    channels = {"rgb": 3, "rgba": 4, "grayscale": 1}.get(color_mode)
    if channels is None:
        raise ValueError(f"{function}: color_mode is {color_mode!r}; must be 'rgb', 'rgba' or 'grayscale'")
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        raise _engine.UnimplementedError(
            f"{function}: images are stretched to image_size; crop_to_aspect_ratio and pad_to_aspect_ratio "
            "are not there")

    def load(path):
        with open(path, "rb") as file:
            decoded = _engine.decode_image(file.read(), channels, dtypes.uint8)
        return resize(_engine.op_function("cast")(decoded, dtypes.float32), list(image_size), interpolation)

    found = _index(function, os.fsdecode(directory), labels, class_names, _IMAGES, follow_links)
    if verbose:
        print(f"Found {len(found[0])} files" + (f" belonging to {len(found[2])} classes." if found[2] else "."))
    return _from_files(function, found, load, label_mode, batch_size, shuffle, seed, validation_split, subset)


@public("keras.preprocessing.text_dataset_from_directory", "keras.utils.text_dataset_from_directory")
def text_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, batch_size=32, max_length=None,
                                shuffle=True, seed=None, validation_split=None, subset=None, follow_links=False, verbose=True):
    """Batches of the texts in the .txt files of a folder, as strings, and of their labels. max_length: bytes that are kept. The
    other arguments and the errors are image_dataset_from_directory's."""
    function = "text_dataset_from_directory"

    def load(path):
        with open(path, "rb") as file:
            return _engine.convert_to_tensor(file.read() if max_length is None else file.read(max_length))

    found = _index(function, os.fsdecode(directory), labels, class_names, (".txt",), follow_links)
    if verbose:
        print(f"Found {len(found[0])} files" + (f" belonging to {len(found[2])} classes." if found[2] else "."))
    return _from_files(function, found, load, label_mode, batch_size, shuffle, seed, validation_split, subset)


@public("keras.preprocessing.timeseries_dataset_from_array", "keras.utils.timeseries_dataset_from_array")
def timeseries_dataset_from_array(data, targets, sequence_length, sequence_stride=1, sampling_rate=1, batch_size=128, shuffle=False,
                                  seed=None, start_index=None, end_index=None):
    """Batches of sequences of an array's rows, and of the targets of their beginnings.

    targets: targets[i] belongs to the sequence that begins at row i; None for sequences alone. sequence_length: rows of each;
    sequence_stride: rows from one beginning to the next; sampling_rate: rows from one row of a sequence to the next; start_index,
    end_index: the rows that are used. batch_size None: no batches. Errors: ValueError for arguments that do not fit.
    """
    for name, value in (("sequence_length", sequence_length), ("sequence_stride", sequence_stride),
                        ("sampling_rate", sampling_rate)):
        if value < 1:
            raise ValueError(f"timeseries_dataset_from_array: {name} is {value}; must be at least 1")
    first, end = start_index or 0, len(data) if end_index is None else end_index
    if not 0 <= first < end <= len(data):
        raise ValueError(f"timeseries_dataset_from_array: rows {first} to {end} of {len(data)}")
    rows = np.asarray(data)[first:end]
    count = len(rows) - (sequence_length - 1) * sampling_rate
    starts = np.arange(0, max(0, count if targets is None else min(count, len(targets))), sequence_stride)
    if shuffle:
        np.random.default_rng(seed).shuffle(starts)
    inside = np.arange(sequence_length) * sampling_rate
    wanted = None if targets is None else np.asarray(targets)
    size = batch_size or 1

    @runs_eagerly
    def batch(number):
        begins = starts[int(number) * size:(int(number) + 1) * size]
        sequences = rows[begins[:, None] + inside]
        return sequences if wanted is None else (sequences, wanted[begins])

    dataset = DatasetV2.range(-(-len(starts) // size)).map(batch)
    return dataset.unbatch() if batch_size is None else dataset.prefetch(2)


@public("keras.utils.pad_sequences", "keras.preprocessing.sequence.pad_sequences")
def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Lists of numbers as rows of one array, filled up with value, or cut, to maxlen (the longest one's).

    padding, truncating: "pre" or "post", the end at which. Returns a NumPy array. ValueError for other words, and for a value that is not a
    list of lists.
    """
    for name, word in (("padding", padding), ("truncating", truncating)):
        if word not in ("pre", "post"):
            raise ValueError(f"pad_sequences: {name} is {word!r}; must be 'pre' or 'post'")
    if not hasattr(sequences, "__len__") or not all(hasattr(each, "__len__") for each in sequences):
        raise ValueError(f"pad_sequences: sequences is {sequences!r}; needs a list of lists")
    arrays = [np.asarray(each) for each in sequences]
    length = max(map(len, arrays), default=0) if maxlen is None else maxlen
    row_shape = next((array.shape[1:] for array in arrays if len(array)), ())
    out = np.full((len(arrays), length, *row_shape), value, dtype)
    for row, array in zip(out, arrays):
        kept = array[max(0, len(array) - length):] if truncating == "pre" else array[:length]
        if len(kept):
            place = slice(length - len(kept), None) if padding == "pre" else slice(len(kept))
            row[place] = kept
    return out
