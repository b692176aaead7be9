"""The controlling terminal and what it can do."""
