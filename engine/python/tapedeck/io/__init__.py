"""tf.io: files, records, images and the messages in records. Most functions are listed in the files beside this one."""
from tapedeck.io import csv, examples, features, files, images, numbers, records  # noqa: F401
