"""What if: edits in a form, the manifests that they make, and what comes of them. Nothing is written."""
