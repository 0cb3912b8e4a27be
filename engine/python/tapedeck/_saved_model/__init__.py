"""tf.saved_model: objects with their variables and traced functions in a folder, which other programs load without their code."""
