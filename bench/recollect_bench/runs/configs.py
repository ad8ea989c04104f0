"""Configurations: what a run varies, written in one line.

    lexical                        a name
    rrf:rrf_k=10:depth=100         a name with parameters
    convex:dense_weight=1|2|4      a sweep: one configuration for each value
    default+rerank                 a name with an addition

A parameter is a run-time setting (`recollect settings`) or a field of `Layout`: what is stored, and
where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Final, Literal, get_args

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings

Engine = Literal["postgres", "sqlite", "bm25s"]
Embedded = Literal["content", "alone", "first"]
Graph = Literal["own", "given", "none"]
Importance = Literal["equal", "noise", "signal"]


@dataclass(frozen=True, slots=True)
class Layout:
    """What is stored and where; configurations with the same layout share a store.

    `engine`: the server's store, the local one, or a third-party BM25 as a yardstick. `embedder`:
    the model; empty means the configured one. `embedded`: the content as the product embeds it, a
    turn with those before it and a long text in passages; each text alone; or only as much of a
    long text as fits the model's window. `importance`: the same for all, random, or higher for
    memories that some question asks for. `graph`: filled by our own rules, only by the set's facts,
    or not at all; without a dense leg there is no graph either.
    """

    engine: Engine = "postgres"
    embedder: str = ""
    embedded: Embedded = "content"
    importance: Importance = "equal"
    graph: Graph = "own"


@dataclass(frozen=True, slots=True)
class Config:
    """One way to recall, and its name in the report."""

    name: str
    layout: Layout = field(default_factory=Layout)
    settings: Mapping[str, object] = field(default_factory=dict)


_LEXICAL: Final[Mapping[str, object]] = {"dense_weight": 0.0, "graph_weight": 0.0}
NAMED: Final[Mapping[str, Config]] = {
    config.name: config
    for config in (
        Config("default"),
        Config("base", settings={"graph_weight": 0.0}),
        Config("local", Layout(engine="sqlite")),
        Config("local-fts", Layout(engine="sqlite"), _LEXICAL),
        Config("lexical", settings=_LEXICAL),
        Config("dense", settings={"lexical_weight": 0.0, "graph_weight": 0.0}),
        Config(
            "rrf",
            settings={
                "fusion": "rrf",
                "rrf_k": 60,
                "dense_weight": 1.0,
                "depth": 50,
                "graph_weight": 0.0,
            },
        ),
        Config(
            "convex",
            settings={"fusion": "convex", "dense_weight": 1.0, "depth": 50, "graph_weight": 0.0},
        ),
        Config("bm25s", Layout(engine="bm25s"), _LEXICAL),
    )
}
ADDED: Final[Mapping[str, Mapping[str, object]]] = {
    "rerank": {"second_stage": "cross-encoder"},
    "graph": {"graph_weight": RecallSettings().graph_weight},
}
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "engine": get_args(Engine),
    "embedded": get_args(Embedded),
    "importance": get_args(Importance),
    "graph": get_args(Graph),
}
_LAYOUT: Final = tuple(field.name for field in fields(Layout))
UNHURRIED: Final[Mapping[str, object]] = {"deadline_ms": 60_000, "rerank_timeout_ms": 10_000}
"""Time limits of every run: a busy machine must measure the same ranking."""


def current_config(settings: RecallSettings, *, is_local: bool, has_model: bool = True) -> Config:
    """Return the user's own configuration: these settings, on the server's store or on the local
    one, which recalls by words alone if it has no model. Time limits are left out: a run has its
    own.
    """
    usual = {**RecallSettings().as_dict(), **UNHURRIED}
    settings = settings.changed(UNHURRIED)
    changed = {key: value for key, value in settings.as_dict().items() if value != usual[key]}
    if is_local:
        local = NAMED["local" if has_model else "local-fts"]
        return Config("current", local.layout, {**changed, **local.settings})
    return Config("current", settings=changed)


def with_current(configs: list[Config], current: Config) -> tuple[list[Config], str]:
    """Add the user's own configuration at the front unless it is there already; also return its
    name.
    """
    for config in configs:
        if _effective_settings(config) == _effective_settings(current):
            return configs, config.name
    return [current, *configs], current.name


def _effective_settings(config: Config) -> tuple[object, ...]:
    return config.layout, RecallSettings().changed(config.settings)


def parse_configs(text: str) -> list[Config]:
    """Parse a comma-separated list of configurations; duplicates are dropped, the order is kept."""
    found: dict[str, Config] = {}
    for part in text.split(","):
        for config in _expand(part.strip()):
            found.setdefault(config.name, config)
    return list(found.values())


def _expand(text: str) -> Iterable[Config]:
    name, *parameters = text.split(":")
    pairs: list[list[tuple[str, str]]] = []
    for parameter in parameters:
        key, equals, values = parameter.partition("=")
        if not equals or not all(values.split("|")):
            raise InvalidInput(
                f"{parameter[:60]!r} in {text[:100]!r} is not a parameter",
                field="--configs",
                remedy="Write name=value, or name=value|value for a sweep.",
            )
        pairs.append([(key, value) for value in values.split("|")])
    for chosen in product(*pairs):
        yield _config(name, dict(chosen))


def _config(text: str, parameters: Mapping[str, str]) -> Config:
    name, *added = text.split("+")
    base = NAMED.get(name or "default")
    unknown = [addition for addition in added if addition not in ADDED]
    if base is None or unknown:
        raise InvalidInput(
            f"there is no configuration named {text[:60]!r}",
            field="--configs",
            remedy=f"Choose from {', '.join(NAMED)}, with +{' or +'.join(ADDED)}; settings follow "
            "as :name=value.",
        )
    settings = dict(base.settings)
    for addition in added:
        settings.update(ADDED[addition])
    layout = base.layout
    for key, value in parameters.items():
        if key in _LAYOUT:
            layout = replace(layout, **{key: _check_choice(key, value)})  # type: ignore[arg-type]  # checked against the choices
        else:
            settings[key] = value
    checked = RecallSettings().changed(settings).as_dict()
    suffix = "".join(f":{key}={value}" for key, value in parameters.items())
    chosen = {key: checked[key] for key in settings}
    return Config(f"{text or base.name}{suffix}", layout, chosen)


def _check_choice(key: str, value: str) -> str:
    if key in _CHOICES and value not in _CHOICES[key]:
        raise InvalidInput(
            f"{key} cannot be {value[:60]!r}",
            field="--configs",
            remedy=f"Choose one of: {', '.join(_CHOICES[key])}.",
        )
    return value
