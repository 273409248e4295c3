"""Controllers of Volcano's queues, and of Pods that wait for their quota."""

MANAGER_LEASE, SCHEDULER_LEASE = "vc-controller-manager", "volcano"
"""The default names of the Leases of Volcano's controllers and of its scheduler."""
