"""Checks a statement against the rules by which Citus plans it.

A statement about distributed tables must go to one shard, so each of these tables is restricted to
one owner: by a constant of its own, or by an equality with a table that is. What else Citus rejects
follows its planner (`ModifyPartialQuerySupported` and `ErrorIfOnConflictNotSupported` in
multi_router_planner.c): locks across shards, functions that are not immutable where it evaluates
them once, sublinks in VALUES. Two rules follow from our own schema: an INSERT … SELECT writes with
COPY, which row-level security rejects, unless it has RETURNING or ON CONFLICT; and a catalog is a
local table, which cannot be joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pglast.ast
from pglast import enums, parse_plpgsql, parse_sql

ast: Any = pglast.ast  # in its types every field is optional
OWNER = "owner"


@dataclass(frozen=True)
class Schema:
    """`volatility`: for each function name, the least stable of its functions: i, s or v."""

    distributed: frozenset[str]
    reference: frozenset[str]
    volatility: Mapping[str, str]

    def is_known(self, table: str) -> bool:
        return table in self.distributed or table in self.reference


@dataclass
class Level:
    """The tables of one query level, and which of their owner columns are known to be equal."""

    tables: dict[str, str | None] = field(default_factory=dict)
    """By alias: the table, or None for a CTE, a subquery or a function."""
    tied: set[tuple[str, str]] = field(default_factory=set)
    """Columns that are known to hold the one owner."""
    parent: Level | None = None
    sees_parent: bool = False


def find_violations(
    statement: str, schema: Schema, *, is_across_owners: bool = False, variables: bool = False
) -> list[str]:
    """Return the rules that a statement breaks.

    With `variables` it is part of a function, so a name that is not a column counts as a constant.
    """
    found: list[str] = []
    for parsed in parse_sql(to_parsable(statement)):
        checker = _Checker(schema, is_across_owners=is_across_owners, variables=variables)
        checker.statement(parsed.stmt)
        found += checker.found
    return found


def to_parsable(statement: str) -> str:
    """Replace the driver's placeholders by those of Postgres."""
    numbered = re.sub(r"%\(\w+\)s|%s", "$1", statement)
    return numbered.replace("%%", "%")


def statements_of(function: str) -> Iterator[str]:
    """Return the statements of a PL/pgSQL function, given its definition."""
    for parsed in parse_plpgsql(function):
        yield from _queries(parsed)


def copies_rows(statement: str) -> bool:
    """Whether it is an INSERT … SELECT that is not sent to one shard: triggers run only these."""
    parsed: Any = parse_sql(statement)[0].stmt
    return isinstance(parsed, ast.InsertStmt) and not parsed.selectStmt.valuesLists


def _queries(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        expression = node.get("PLpgSQL_expr")
        if expression is not None:
            text = expression["query"]
            # An assignment is parsed as `name := expression`, a condition without its `select`.
            mode = expression.get("parseMode", 0)
            if mode == 0:
                yield text
            elif mode == 2:
                yield f"select {text}"
            else:
                yield f"select {text.partition(':=')[2]}"
        for value in node.values():
            yield from _queries(value)
    elif isinstance(node, list):
        for value in node:
            yield from _queries(value)


@dataclass
class _Contents:
    """What a part of a statement contains, including its subqueries."""

    names: set[str] = field(default_factory=set)
    columns: int = 0
    sublinks: int = 0


def _inspect(node: Any) -> _Contents:
    found = _Contents()
    for inner in _walk_all(node):
        if isinstance(inner, ast.FuncCall):
            found.names.add(inner.funcname[-1].sval)
        elif isinstance(inner, ast.SQLValueFunction):
            found.names.add("now")
        elif isinstance(inner, ast.ColumnRef):
            found.columns += 1
        elif isinstance(inner, ast.SubLink):
            found.sublinks += 1
    return found


class _Checker:
    def __init__(self, schema: Schema, *, is_across_owners: bool, variables: bool) -> None:
        self.schema = schema
        self.is_across_owners = is_across_owners
        self.variables = variables
        self.found: list[str] = []
        self.ctes: set[str] = set()
        self.read: set[str] = set()

    def add(self, problem: str) -> None:
        if problem not in self.found:
            self.found.append(problem)

    # Statements

    def statement(self, node: Any) -> None:
        if isinstance(node, ast.ExplainStmt):
            node = node.query
        if isinstance(node, ast.SelectStmt | ast.InsertStmt | ast.UpdateStmt | ast.DeleteStmt):
            self.query(node, None)
            self._check_catalogs()
            if not isinstance(node, ast.SelectStmt) and self.is_across_owners:
                self._check_plain(node)

    def _check_catalogs(self) -> None:
        catalogs = {name for name in self.read if name.startswith("pg_")}
        known = {name for name in self.read if self.schema.is_known(name)}
        if catalogs and known:
            self.add(f"joins a catalog ({', '.join(catalogs)}) with {', '.join(known)}")

    def _check_plain(self, node: Any) -> None:
        if node.withClause is not None:
            self.add("a change across owners has a WITH clause")

    def query(self, node: Any, parent: Level | None, *, sees_parent: bool = False) -> None:
        before = set(self.ctes)
        for cte in node.withClause.ctes if node.withClause else ():
            self._cte(cte, node, parent)
        if isinstance(node, ast.SelectStmt):
            self._select(node, parent, sees_parent=sees_parent)
        elif isinstance(node, ast.InsertStmt):
            self._insert(node, parent)
        else:
            self._change(node, parent)
        self.ctes = before

    def _cte(self, cte: Any, node: Any, parent: Level | None) -> None:
        body = cte.ctequery
        self.ctes.add(cte.ctename)  # a recursive CTE reads itself
        self.query(body, parent)
        if isinstance(node, ast.UpdateStmt | ast.DeleteStmt):
            self._refuse(body, "v", "a CTE of a change")
        if isinstance(body, ast.SelectStmt) and body.lockingClause:
            tables = {table for table in _tables_in(body) if table in self.schema.reference}
            if tables:
                self.add(f"locks rows in a CTE with the reference table {', '.join(tables)}")

    def _select(self, node: Any, parent: Level | None, *, sees_parent: bool) -> None:
        if node.op != enums.SetOperation.SETOP_NONE:
            self.query(node.larg, parent, sees_parent=sees_parent)
            self.query(node.rarg, parent, sees_parent=sees_parent)
            return
        level = Level(parent=parent, sees_parent=sees_parent)
        self._level(level, node.fromClause or (), node.whereClause)
        if node.lockingClause and any(
            table in self.schema.distributed and not self._is_tied(level, alias)
            for alias, table in level.tables.items()
        ):
            self.add("locks rows of more than one shard")
        asks_a_node = any(table and self.schema.is_known(table) for table in level.tables.values())
        if asks_a_node and "set_config" in _inspect(node.targetList).names:
            self.add("calls set_config on a node, not in the session")
        for part in (node.targetList, node.groupClause, node.havingClause, node.sortClause):
            self._sublinks(part, level, in_conjunct=False)
        for row in node.valuesLists or ():
            self._sublinks(row, level, in_conjunct=False)

    def _insert(self, node: Any, parent: Level | None) -> None:
        table = node.relation.relname
        self.read.add(table)
        is_distributed = table in self.schema.distributed
        columns = [column.name for column in node.cols or ()]
        source = node.selectStmt
        values = source.valuesLists if isinstance(source, ast.SelectStmt) else None
        if is_distributed and OWNER not in columns:
            self.add(f"inserts into {table} without naming the owner")
        if values:
            if any(_inspect(row).sublinks for row in values):
                self.add(f"a subquery in the values for {table}")
        else:
            self.query(source, parent)
            if is_distributed and not (_list_returned(node) or node.onConflictClause):
                self.add(
                    f"copies rows into {table}, which row-level security refuses: add ON CONFLICT"
                    " or RETURNING"
                )
        self._refuse(_list_returned(node), "sv", "RETURNING")
        conflict = node.onConflictClause
        if conflict is not None:
            self._check_conflict(conflict, table, is_distributed=is_distributed)

    def _check_conflict(self, conflict: Any, table: str, *, is_distributed: bool) -> None:
        target = {element.name for element in (conflict.infer and conflict.infer.indexElems) or ()}
        if is_distributed and OWNER not in target:
            self.add(f"a conflict target of {table} without the owner")
        for item in conflict.targetList or ():
            if item.name == OWNER:
                self.add(f"changes the owner of {table}")
        self._refuse(conflict.targetList, "sv", "DO UPDATE SET")
        self._refuse(conflict.whereClause, "sv", "the WHERE of ON CONFLICT")

    def _change(self, node: Any, parent: Level | None) -> None:
        target = node.relation
        level = Level(parent=parent)
        is_update = isinstance(node, ast.UpdateStmt)
        others = (node.fromClause if is_update else node.usingClause) or ()
        self._level(level, (target, *others), node.whereClause)
        if target.relname in self.schema.reference:
            queried = {name for name in self.read if name in self.schema.distributed}
            if queried:
                self.add(f"changes the reference table {target.relname} by distributed tables")
        self._refuse(node.whereClause, "v", "the WHERE of a change")
        self._check_evaluated(node.whereClause, "the WHERE of a change")
        for item in (node.targetList if is_update else ()) or ():
            if item.name == OWNER:
                self.add(f"changes the owner of {target.relname}")
            self._refuse(item, "v", "SET")
            self._check_evaluated(item, "SET")
            self._sublinks(item, level, in_conjunct=False)
        for other in others:
            self._refuse(other, "v", "the FROM of a change")
        self._refuse(_list_returned(node), "sv", "RETURNING")

    # Functions

    def _volatility(self, name: str) -> str:
        return self.schema.volatility.get(name, "i")

    def _refuse(self, node: Any, refused: str, where: str) -> None:
        names = [name for name in _inspect(node).names if self._volatility(name) in refused]
        if names:
            self.add(f"{', '.join(sorted(names))} in {where}")

    def _check_evaluated(self, node: Any, where: str) -> None:
        """Check functions that are not immutable: Citus evaluates them before it sends a change."""
        for inner in _walk(node):
            if isinstance(inner, ast.CaseExpr | ast.CoalesceExpr) and self._is_mutable(inner):
                self.add(f"a function that is not immutable in CASE or COALESCE of {where}")
            if isinstance(inner, ast.FuncCall | ast.A_Expr):
                mine = self._own_volatility(inner)
                if mine != "i" and _inspect(inner).columns:
                    self.add(f"a stable function of a column in {where}")

    def _is_mutable(self, node: Any) -> bool:
        return any(
            self._own_volatility(inner) != "i"
            for inner in _walk(node)
            if isinstance(inner, ast.FuncCall | ast.A_Expr | ast.SQLValueFunction)
        )

    def _own_volatility(self, node: Any) -> str:
        if isinstance(node, ast.SQLValueFunction):
            return "s"
        if isinstance(node, ast.FuncCall):
            return self._volatility(node.funcname[-1].sval)
        # A time plus an interval depends on the time zone.
        is_sum = node.kind == enums.A_Expr_Kind.AEXPR_OP and node.name[-1].sval in {"+", "-"}
        return "s" if is_sum and any(map(_is_time, (node.lexpr, node.rexpr))) else "i"

    # Owners

    def _level(self, level: Level, sources: Any, where: Any) -> None:
        conditions = [*_conjuncts(where)]
        for source in sources:
            self._source(source, level, conditions)
        equal = [pair for each in conditions if (pair := self._equality(each, level))]
        self._tie(level, equal)
        if not self.is_across_owners:
            for alias, table in level.tables.items():
                if table in self.schema.distributed and not self._is_tied(level, alias):
                    self.add(f"reads or changes {table} ({alias}) without its owner")
        elif not self._is_colocated(level, equal):
            self.add("joins tables without an equality of their owners")
        for condition in conditions:
            self._sublinks(condition, level, in_conjunct=True)

    def _source(self, source: Any, level: Level, conditions: list[Any]) -> None:
        if isinstance(source, ast.RangeVar):
            alias = source.alias.aliasname if source.alias else source.relname
            if source.relname in self.ctes:
                level.tables[alias] = None
            else:
                self.read.add(source.relname)
                level.tables[alias] = source.relname
        elif isinstance(source, ast.JoinExpr):
            self._source(source.larg, level, conditions)
            self._source(source.rarg, level, conditions)
            conditions += _conjuncts(source.quals)
            if OWNER in {name.sval for name in source.usingClause or ()}:
                names = [*_aliases(source.larg)][-1:] + [*_aliases(source.rarg)][:1]
                conditions.append(tuple(names))
        elif isinstance(source, ast.RangeSubselect):
            self.query(source.subquery, level)
            alias = source.alias.aliasname if source.alias else "?"
            level.tables[alias] = None
        elif isinstance(source, ast.RangeFunction):
            alias = source.alias.aliasname if source.alias else "?"
            level.tables[alias] = None
            self._sublinks(source.functions, level, in_conjunct=False)

    def _equality(self, condition: Any, level: Level) -> tuple[Any, Any] | None:
        if isinstance(condition, tuple):
            return (condition[0], OWNER), (condition[1], OWNER)
        if not isinstance(condition, ast.A_Expr) or condition.kind != enums.A_Expr_Kind.AEXPR_OP:
            return None
        if condition.name[-1].sval != "=":
            return None
        return self._side(condition.lexpr, level), self._side(condition.rexpr, level)

    def _side(self, node: Any, level: Level) -> tuple[str, str] | str | None:
        """Return a column of this level, "constant", or None."""
        if isinstance(node, ast.TypeCast):
            return self._side(node.arg, level)
        if isinstance(node, ast.ParamRef | ast.A_Const):
            return "constant"
        if not isinstance(node, ast.ColumnRef):
            return None
        names = [part.sval for part in node.fields if isinstance(part, ast.String)]
        if len(names) == 1:
            owned = [a for a, table in level.tables.items() if table in self.schema.distributed]
            if names[0] == OWNER and len(owned) == 1:
                return owned[0], OWNER
            return "constant" if self.variables and names[0] != OWNER else None
        alias, column = names[0], names[-1]
        if alias in level.tables:
            return alias, column
        above = level.parent if level.sees_parent else None
        while above is not None:
            if alias in above.tables:
                return "constant" if (alias, column) in above.tied else None
            above = above.parent if above.sees_parent else None
        if level.parent is None or not _knows(level.parent, alias):
            return "constant" if self.variables else None
        return None

    def _tie(self, level: Level, equal: list[tuple[Any, Any]]) -> None:
        tied: set[Any] = {*level.tied, "constant"}
        while True:
            more = {side for pair in equal if tied & {*pair} for side in pair} - tied - {None}
            if not more:
                break
            tied |= more
        level.tied = tied - {"constant"}

    def _is_tied(self, level: Level, alias: str) -> bool:
        return (alias, OWNER) in level.tied

    def _is_colocated(self, level: Level, equal: list[tuple[Any, Any]]) -> bool:
        owned = [
            (alias, OWNER)
            for alias, table in level.tables.items()
            if table in self.schema.distributed and not self._is_tied(level, alias)
        ]
        if len(owned) < 2:
            return True
        group = {owned[0]}
        while more := {side for pair in equal if group & {*pair} for side in pair} - group:
            group |= more
        return {*owned} <= group

    def _sublinks(self, node: Any, level: Level, *, in_conjunct: bool) -> None:
        """Check subqueries. Postgres turns EXISTS among the conditions into a join, which passes
        the owner on; any other subquery must name it.
        """
        for link in _sublinks_of(node):
            exists = link.subLinkType == enums.SubLinkType.EXISTS_SUBLINK
            pulled_up = exists and in_conjunct and _is_conjunct(node, link)
            self.query(link.subselect, level, sees_parent=pulled_up)


def _knows(level: Level | None, alias: str) -> bool:
    while level is not None:
        if alias in level.tables:
            return True
        level = level.parent
    return False


def _is_time(node: Any) -> bool:
    for inner in _walk(node):
        if isinstance(inner, ast.SQLValueFunction):
            return True
        if isinstance(inner, ast.FuncCall) and inner.funcname[-1].sval == "now":
            return True
        if isinstance(inner, ast.TypeCast) and inner.typeName.names[-1].sval == "interval":
            return True
    return False


def _walk_all(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple | list):
        for each in node:
            yield from _walk_all(each)
    elif isinstance(node, ast.Node):
        yield node
        for name in node:
            yield from _walk_all(getattr(node, name))


def _walk(node: Any) -> Iterator[Any]:
    """Return all nodes within, except those of subqueries."""
    if isinstance(node, tuple | list):
        for each in node:
            yield from _walk(each)
    elif isinstance(node, ast.Node):
        yield node
        if isinstance(node, ast.SubLink):
            yield from _walk(node.testexpr)
            return
        for name in node:
            yield from _walk(getattr(node, name))


def _sublinks_of(node: Any) -> Iterator[Any]:
    return (inner for inner in _walk(node) if isinstance(inner, ast.SubLink))


def _is_conjunct(condition: Any, link: Any) -> bool:
    if condition is link:
        return True
    return (
        isinstance(condition, ast.BoolExpr)
        and condition.boolop == enums.BoolExprType.NOT_EXPR
        and condition.args[0] is link
    )


def _conjuncts(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BoolExpr) and node.boolop == enums.BoolExprType.AND_EXPR:
        for each in node.args:
            yield from _conjuncts(each)
    elif node is not None:
        yield node


def _aliases(source: Any) -> Iterator[str]:
    if isinstance(source, ast.JoinExpr):
        yield from _aliases(source.larg)
        yield from _aliases(source.rarg)
    elif isinstance(source, ast.RangeVar):
        yield source.alias.aliasname if source.alias else source.relname
    elif source.alias:
        yield source.alias.aliasname


def _tables_in(node: Any) -> set[str]:
    return {inner.relname for inner in _walk(node) if isinstance(inner, ast.RangeVar)}


def _list_returned(node: Any) -> Any:
    return node.returningClause.exprs if node.returningClause else ()
