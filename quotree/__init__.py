"""The only package that an installed Quotree adds to an environment. `quotree.start` finds the others."""
