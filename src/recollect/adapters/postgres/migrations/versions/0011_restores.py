"""What tells a restored database from the one it was dumped from: how far into each erasure log it
is, and an epoch that clients compare.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_LOGS = "create table erasure_logs (log uuid primary key, applied bigint not null)"

# place: where these tables are on the disk; a restore puts them elsewhere, and a new epoch begins.
_EPOCH = """
alter table sync_server
    add column epoch uuid not null default gen_random_uuid(),
    add column place text not null default ''
"""


def upgrade() -> None:
    op.execute(_LOGS)
    op.execute(_EPOCH)


def downgrade() -> None:
    op.execute("alter table sync_server drop column place, drop column epoch")
    op.execute("drop table erasure_logs")
