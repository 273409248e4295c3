"""Judges all stored objects: the findings by tree, and reports of them."""
