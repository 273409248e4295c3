"""Trace ids of requests and Workloads, and the export of their spans if tracing is on."""
