"""Migrates the queues of another scheduler to Kueue's objects, and lists what cannot be kept.

migrated = migrate_volcano(manifests, MigrationWish(totals={"cpu": 64000}))
migrated.objects   # manifests of Kueue, v1beta2
migrated.lost      # each with object, field, why, and what to do instead
"""

from policies.migration.kueue import migrate_kueue
from policies.migration.model import Migration, MigrationWish, NotKept
from policies.migration.volcano import migrate_volcano
from policies.migration.yunikorn import migrate_yunikorn

__all__ = ["Migration", "MigrationWish", "NotKept", "migrate_kueue", "migrate_volcano", "migrate_yunikorn"]
