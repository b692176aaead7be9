"""A synchronous client for MCP servers, over stdio and HTTP, for both eras of the protocol."""
