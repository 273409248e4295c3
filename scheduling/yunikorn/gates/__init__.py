"""Decides which Pods pass a scheduling gate, by YuniKorn's quota."""
