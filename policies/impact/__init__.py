"""Computes the effect of a change on quota: the quota of each node before and after, and which nodes gain or lose."""
