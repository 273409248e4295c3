"""Taking a cluster over from Kueue's manager, and giving it back: what is missing, and which step is next."""
