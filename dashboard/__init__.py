"""The dashboard: pages over the reconciler's /v1 and the API server, each read with the rights of who looks."""
