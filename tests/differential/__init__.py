"""Our arithmetic beside Kubernetes' own: whoever differs is wrong, and it is not Kubernetes."""
