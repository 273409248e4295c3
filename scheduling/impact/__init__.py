"""The effect of a change of Kueue's objects: on the quota of each node, and on running and waiting workloads."""
