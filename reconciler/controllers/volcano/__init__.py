"""Manages Volcano's queues on a cluster."""

MANAGER_LEASE, SCHEDULER_LEASE = "vc-controller-manager", "volcano"
"""The Leases of Volcano's controllers and of its scheduler, by their default names."""
