"""The calls a model makes, and the results it is given."""
