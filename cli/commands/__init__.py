"""The commands, one file for each: `quotree NAME` is the click command `NAME` in `NAME.py`.

The docstring of the file is the command's line in the list of commands. A hyphen in the name of a command is an
underscore in the name of the file. `cli/group.py` finds the files.
"""
