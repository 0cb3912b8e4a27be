"""TensorFlow's tf.keras.metrics, also under the name tf.metrics: what is counted over all batches of an evaluation."""
