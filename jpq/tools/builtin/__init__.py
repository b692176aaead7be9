"""The tools that jpq brings. Each is offered only when it is named (docs/tools-kinds.md)."""
