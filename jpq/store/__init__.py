"""Conversations on disk: journal, lock, workspace."""
