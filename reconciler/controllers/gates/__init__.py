"""Pods at a scheduling gate of ours, for the quota of any project."""
