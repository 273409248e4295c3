"""Where the pods of a workload run: the domains of a topology, and the number of pods in each.

Values in, values out: no clock, no cluster. Source: Kueue v0.19, pkg/cache/scheduler and pkg/util/tas.
"""
