"""Which Pods pass a scheduling gate, by the law of Volcano's queues."""
