"""Kueue's own Configuration (config.kueue.x-k8s.io/v1beta2): the one place where it is judged and read.

- `keys`: how each key is used (docs/reconciler-configuration.md); `gates`: feature gates and their defaults.
- `validation`: what Kueue refuses of it, section by section; `defaults`: the values of absent keys.
- `reading`: from a manifest to `values`, from which scheduling, simulation and reconciler make their own settings.

Quotree's own settings of MultiKueue, for which Kueue's file has no place: `policies.configuration.multikueue`.
"""
