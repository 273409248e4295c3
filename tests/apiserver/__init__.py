"""Tests against a real kube-apiserver; `harness` starts it, `build` finds or makes its programs."""
