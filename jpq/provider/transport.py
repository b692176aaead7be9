"""The transport's former place."""

from jpq.wire.transport import Response, Transport

__all__ = ["Response", "Transport"]
