"""tf.function: functions that are traced once for each signature, and then run as graphs."""
