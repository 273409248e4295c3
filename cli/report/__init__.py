"""The results of commands as values, and their text and JSON."""
