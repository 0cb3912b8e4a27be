"""tf.keras.callbacks: what is told how training goes, and may change it."""
