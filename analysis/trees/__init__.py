"""Quota trees: the shown part, the quota and usage of each node, and the output of `quotree tree -o json`."""
