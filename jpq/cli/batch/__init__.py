"""``jpq --batch FILE``: many questions in one run (docs/batch.md)."""
