"""Reads the data of pages with the rights of the user, and caches it for a short time."""
