"""Keeps Pods within the quota of YuniKorn's queues by scheduling gates."""
