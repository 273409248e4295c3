"""The life of Volcano's queues on a cluster."""
