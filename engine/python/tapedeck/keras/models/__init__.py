"""tf.keras.models."""
