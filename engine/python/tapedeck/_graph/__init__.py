"""What TensorFlow 1's graphs had, eagerly: loops, branches, collections, tf.Module."""
