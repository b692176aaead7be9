"""One request until its final answer: inbox, state machine, retries, loop."""
