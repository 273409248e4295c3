"""The dashboard: pages with data of the reconciler's /v1 and the API server, read with the rights of the user."""
