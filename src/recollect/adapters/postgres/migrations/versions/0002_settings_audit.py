"""Who changed which run-time setting, from what to what, and when."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# old_value is null where the default held.
_SETTINGS_AUDIT = """
create table settings_audit (
    number bigint generated always as identity primary key,
    name text not null,
    old_value jsonb,
    new_value jsonb not null,
    changed_by text not null,
    changed_at timestamptz not null
)
"""


def upgrade() -> None:
    op.execute(_SETTINGS_AUDIT)


def downgrade() -> None:
    op.execute("drop table settings_audit")
