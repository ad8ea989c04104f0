"""The former space, which `recollect reembed --rollback` goes back to, is marked as such: a space
whose cancelling or removal was killed half way is retired, too, and must not be taken for it.

One database is marked wrongly, because its rows tell nothing else: a was active, the cancelling of
c was killed, and then the change to b was killed while it removed c, too. That looks like changes
from a to c and from c to b, so c is marked, which was never active, and a is removed by the next
change. It takes two kills before this upgrade; nothing that recall asks is touched, and
`recollect reembed --model a` leads back all the same.
"""

from alembic import op

revision = "0008v"
down_revision = "0007v"
branch_labels = None
depends_on = None

_MARK = "alter table spaces add column is_former boolean not null default false"
_ONE_FORMER = "create unique index spaces_former on spaces ((true)) where is_former"

# Until now nothing told. A space is opened while the one before it is active, and anew when it is
# gone back to: of those opened before the active one, the former is the last. What is younger than
# the active one in every respect was never asked. (Numbers of transactions begin anew when a
# database is restored on another server, so the moment it was made must agree.)
_FIND = """
update spaces set is_former = true where id = (
    select s.id from spaces s join spaces a on a.state = 'active'
    where s.state <> 'active' and not (s.opened_in > a.opened_in and s.created_at > a.created_at)
    order by s.opened_in desc
    limit 1
)
"""


def upgrade() -> None:
    for statement in (_MARK, _ONE_FORMER, _FIND):
        op.execute(statement)


def downgrade() -> None:
    op.execute("alter table spaces drop column is_former")
