"""Volcano's queues and work played from manifests."""
