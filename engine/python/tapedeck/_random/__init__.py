"""Random numbers: tf.random."""
