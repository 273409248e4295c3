"""Simulates a cluster: takes objects and a sequence of events, and returns what happens as data."""
