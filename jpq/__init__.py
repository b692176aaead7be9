"""jpq: a terminal assistant for language models that runs where others don't."""

__version__ = "0.1.0"
