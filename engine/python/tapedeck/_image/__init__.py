"""Pictures: tf.image."""
