"""Keeps Pods within the quota of YuniKorn's queues by scheduling gates."""

QUOTA_NAMESPACE = "QuotaNamespace"
"""As which kind a Namespace is observed with what it says of quota."""
