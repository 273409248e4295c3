"""A page of tables, which several commands fill and several formats print.

`page` is what it holds and how it looks; the other modules fill it.
"""
