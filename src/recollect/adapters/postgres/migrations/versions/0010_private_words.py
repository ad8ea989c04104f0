"""Words of sensitive memories are not among the frequencies that all owners share.

Whoever stored a word himself could see from its score whether another owner's sensitive memory
holds it. Only an owner's own recall counts them, by an index of their own.
"""

from alembic import op

revision = "0010"
down_revision = "0007"
branch_labels = None
depends_on = None

_INDEX = """
create index memories_sensitive on memories (owner) where is_sensitive and deleted_at is null
"""

# A word of one memory alone has no row, so one of two loses it. Of a common word, one more or less
# says nothing. The lock is the one that a rebuild holds: it must not bring them back.
_HIDE = """
create function recollect_hide_words() returns trigger language plpgsql as $$
declare
    words text[] := tsvector_to_array(old.search_vector);
begin
    perform pg_advisory_xact_lock(1589645804);
    delete from lexeme_stats where lexeme = any(words) and ndoc <= 2;
    update lexeme_stats set ndoc = ndoc - 1 where lexeme = any(words) and ndoc <= 1000;
    return null;
end
$$
"""
_HIDING = """
create trigger hide_words after update on memories for each row
when (new.is_sensitive and not old.is_sensitive) execute function recollect_hide_words()
"""

# They are taken again when a server next opens the database.
_TAKE_AGAIN = "delete from lexeme_stats"


def upgrade() -> None:
    for statement in (_INDEX, _HIDE, _HIDING, _TAKE_AGAIN):
        op.execute(statement)


def downgrade() -> None:
    op.execute("drop trigger hide_words on memories")
    op.execute("drop function recollect_hide_words")
    op.execute("drop index memories_sensitive")
