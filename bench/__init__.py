"""How fast jpq is, as ratios to programs that do the least possible: ``python -m bench``."""
