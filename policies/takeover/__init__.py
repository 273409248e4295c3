"""Taking a cluster over from Kueue's manager, giving it back, and removing Quotree: what is missing, and which step is next."""
