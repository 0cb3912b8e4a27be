"""TensorFlow 1's graphs and sessions: what programs build with tf.placeholder and run with tf.Session."""
