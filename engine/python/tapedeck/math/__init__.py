"""TensorFlow's tf.math. Its functions come from the registry; a package, because tf.math.special is below it."""
