"""One file per command: `quotree NAME` is the click command `NAME` in `NAME.py`, whose docstring is its line of help.

The name of a file has an underscore where the command has a hyphen. Nothing else lists the commands (`cli/group.py`).
"""
