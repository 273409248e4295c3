"""Simulates a cluster: it takes objects and a sequence of events, and returns a trace."""
