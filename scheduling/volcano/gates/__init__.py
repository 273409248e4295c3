"""Which Pods pass a scheduling gate, by the rules of Volcano's queues."""
