"""Simulates Volcano's queues and work from manifests."""
