"""Data sets that lie in files of this machine: tf.keras.datasets."""
