"""Keeps Pods within the quota of YuniKorn's queues with scheduling gates."""

QUOTA_NAMESPACE = "QuotaNamespace"
"""The view of a Namespace with its quota."""
