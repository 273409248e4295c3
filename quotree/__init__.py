"""The only import name that an installed Quotree has. `quotree.start` finds its packages."""
