"""Files of data sets."""
import collections
import os

from tapedeck._core.public import public

Datasets = public("contrib.learn.datasets.base.Datasets")(collections.namedtuple("Datasets", ["train", "validation", "test"]))


@public("contrib.learn.datasets.base.maybe_download")
def maybe_download(filename, work_directory, source_url):
    """The path of a file in a folder. Nothing is downloaded: FileNotFoundError, with path and source_url, where it is not there."""
    path = os.path.join(os.fspath(work_directory), filename)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no {path}; put {source_url} there: Tapedeck downloads nothing")
    return path
