"""tf.keras.layers."""
