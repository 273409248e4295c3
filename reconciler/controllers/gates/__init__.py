"""Pods at a gate of ours, whichever project's quota they wait for."""
