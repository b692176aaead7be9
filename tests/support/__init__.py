"""Real parts for tests: a loopback server, programs, terminals."""
