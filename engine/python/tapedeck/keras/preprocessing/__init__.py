"""Data on their way to a model. keras.preprocessing.text and .image have their functions by the names that those are given."""
