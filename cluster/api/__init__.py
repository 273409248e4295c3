"""Shared code of the servers that answer callers with tokens: connections, refusals, authentication, authorization."""
