"""Bytes from a model's server to stream events, one file per wire API."""
