"""``jpq chat``: many turns of one conversation, from one prompt."""
