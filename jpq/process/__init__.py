"""Child processes: how they are started, found, and ended with all that they have started."""
