"""--watch: the command runs again whenever its inputs change, in files or in a cluster."""
