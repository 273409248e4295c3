"""The option --watch: the command runs again whenever its inputs in files or a cluster change."""
