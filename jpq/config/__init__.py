"""Settings: one table of keys, and the loader that folds every source."""
