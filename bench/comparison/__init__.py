"""What jpq and its neighbours do in the same situations, beside one loopback server."""
