"""What if: edits in a form, the manifests that they make, and their effects. Nothing is written."""
