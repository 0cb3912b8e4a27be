"""What the whole package is made of: dtypes, shapes, errors, names and arguments."""
