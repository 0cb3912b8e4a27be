"""tf.keras.callbacks: objects that follow training and may change it."""
