"""Authentication: by a token, by the headers of a trusted proxy, or by the key of a local process."""
