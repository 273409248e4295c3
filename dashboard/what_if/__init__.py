"""What if: edits in a form, the manifests after them, and their effects. Nothing is written to the cluster."""
