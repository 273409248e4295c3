"""Validates and reads Kueue's own Configuration (config.kueue.x-k8s.io/v1beta2).

- `keys`: how each key is used; `gates`: feature gates and their defaults. Both are tables, in a file each.
- `validation`: the faults that Kueue refuses, by section; `defaults`: the values of absent keys.
- `reading`: reads a manifest into `values`, from which scheduling, simulation and reconciler derive their settings.

`policies.configuration.multikueue` has settings of MultiKueue that are not in Kueue's Configuration.
"""
