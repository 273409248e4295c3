"""Quota trees: which part of them is shown, what each node has and uses, and the answer of `quotree tree -o json`."""
