"""Everything visible, written by one renderer thread."""
