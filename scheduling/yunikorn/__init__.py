"""YuniKorn's queues: what each may use, which applications' Pods run, and which Pods are preempted."""
