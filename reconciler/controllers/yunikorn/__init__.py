"""Keeps Pods within the quota of YuniKorn's queues by scheduling gates."""

QUOTA_NAMESPACE = "QuotaNamespace"
"""The view of a Namespace with its quota."""
