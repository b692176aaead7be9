"""Markdown that streams: text in pieces goes in, finished lines for a terminal come out.

characters --BlockScanner--> what they begin, go on with or end --Layout--> text with colours

Only what is certain is written, at the earliest moment it is, and never again.
docs/rendering.md has the rules and the bounds.
"""
