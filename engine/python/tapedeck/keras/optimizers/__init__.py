"""tf.keras.optimizers: optimisers in Keras' form, and schedules of learning rates."""
