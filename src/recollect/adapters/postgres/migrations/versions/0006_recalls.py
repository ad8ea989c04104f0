"""Which memories were recalled, and since when that is kept."""

from alembic import op

revision = "0006"
down_revision = "0005a"
branch_labels = None
depends_on = None

_RECALLS = """
create table recalls (
    memory_id uuid primary key references memories (id) on delete cascade,
    recalled_at timestamptz not null,
    times integer not null
)
"""

_SINCE = """
create table recalls_kept (since timestamptz not null, single boolean unique default true)
"""

_BEGIN = "insert into recalls_kept (since) values (now())"


def upgrade() -> None:
    for statement in (_RECALLS, _SINCE, _BEGIN):
        op.execute(statement)


def downgrade() -> None:
    for table in ("recalls_kept", "recalls"):
        op.execute(f"drop table {table}")
