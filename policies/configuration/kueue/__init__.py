"""Kueue's own Configuration (config.kueue.x-k8s.io/v1beta2): the one place where it is judged and read.

- `keys`: what becomes of each key (docs/reconciler-configuration.md); `gates`: feature gates and their defaults.
- `validation`: what Kueue refuses of it, section by section; `defaults`: what it means where it says nothing.
- `reading`: from a manifest to `values`, from which scheduling, simulation and reconciler make their own settings.

Quotree's own settings of MultiKueue, for which Kueue's file has no place: `policies.configuration.multikueue`.
"""
