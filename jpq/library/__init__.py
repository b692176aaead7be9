"""jpq as a library: what ``import jpq`` offers (docs/python.md)."""
