"""What a change of Kueue's objects does: to the quota of each node, and to the work that runs and waits."""
