"""TensorFlow's tf.keras.losses: functions that give what each example costs, and objects that reduce that to one number."""
