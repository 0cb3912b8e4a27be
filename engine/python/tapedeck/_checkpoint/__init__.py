"""Checkpoints: what objects hold, saved to a file and brought back. tf.train, tfe and tf.train.experimental name them."""
