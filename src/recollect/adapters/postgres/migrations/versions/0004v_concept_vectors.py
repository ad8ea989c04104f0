"""The vectors of concepts' names, where pgvector is: by them a new name meets the ones before."""

from alembic import op

revision = "0004v"
down_revision = "0001v"
branch_labels = None
# Not on 0004, though its table is referred to: Alembic would then strike 0004 off the list of
# what a database has. `migrate` brings the main branch up first, always.
depends_on = None

# No foreign key onto spaces, as for the vectors of memories; the rows of a space that is given up
# are removed by whoever fills the next one.
_VECTORS = """
create table concept_vectors (
    concept_id uuid not null references concepts (id) on delete cascade,
    space_id integer not null,
    owner text not null,
    vector halfvec not null,
    primary key (concept_id, space_id)
)
"""


def upgrade() -> None:
    op.execute(_VECTORS)


def downgrade() -> None:
    op.execute("drop table concept_vectors")
