"""Rows about admission end to end: a real API server, the reconciler as users run it, and simulated jobs."""
