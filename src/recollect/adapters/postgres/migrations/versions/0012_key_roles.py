"""What a key may do, where, until when, and when it was last used.

The oldest key in force becomes the admin's: somebody must be able to manage the server. The other
keys keep their memories and no more.
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_COLUMNS = """
alter table keys
    add column role text not null default 'member' check (role in ('read-only', 'member', 'admin')),
    add column project text,
    add column expires_at timestamptz,
    add column last_used_at timestamptz
"""

_ADMIN = """
update keys set role = 'admin'
where id = (select id from keys where revoked_at is null order by created_at, id limit 1)
"""


def upgrade() -> None:
    for statement in (_COLUMNS, _ADMIN, "alter table keys alter column role drop default"):
        op.execute(statement)


def downgrade() -> None:
    op.execute(
        "alter table keys drop column role, drop column project, drop column expires_at,"
        " drop column last_used_at"
    )
