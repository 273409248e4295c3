"""Topology-aware scheduling: chooses the domains in which the pods of a workload run, and how many run in each.

Pure functions on values, without a clock or a cluster. Source: Kueue v0.19, pkg/cache/scheduler and pkg/util/tas.
"""
