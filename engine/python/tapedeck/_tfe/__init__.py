"""TensorFlow's tfe: eager execution's first interface, `from tapedeck import tfe`."""
