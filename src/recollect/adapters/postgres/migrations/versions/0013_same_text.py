"""An index to look a text up by, so that storing it again finds the memory that says it."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_SAME_TEXT = r"""
create index memories_same_text on memories
    (owner, hashtextextended(regexp_replace(content, '\s+', '', 'g'), 0))
    where deleted_at is null and category <> 'episode'
"""


def upgrade() -> None:
    op.execute(_SAME_TEXT)


def downgrade() -> None:
    op.execute("drop index memories_same_text")
