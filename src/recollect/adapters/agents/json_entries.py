"""Recollect's entries in the JSON files of clients: text in, text out.

An existing entry keeps what the user added to it, such as `env`; only the part that starts the
program is updated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.adapters.agents import jsonc
from recollect.adapters.agents.command import NAME, Command, hook_of, is_our_server
from recollect.core.errors import Conflict, InvalidInput

# Claude Code's events, the hook that each runs, and other fields; timeouts are in seconds.
HOOKS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "UserPromptSubmit": ("recall", {"timeout": 5}),
    "SessionStart": ("brief", {"timeout": 10}),
    "Stop": ("capture", {"timeout": 60, "async": True}),
    "PreCompact": ("compact", {"timeout": 30}),
}
MATCHERS: Final = {"SessionStart": "startup|resume|clear|compact"}
_NEW: Final = "{\n}\n"


def with_server(text: str, key: str, entry: Mapping[str, Any]) -> str:
    """The text with our server under `key`."""
    text = _start_text(text)
    servers = _servers(text, key)
    there = servers.get(NAME)
    if there is None:
        return jsonc.put(text, (key, NAME), dict(entry))
    _check_ours(there)
    for name, value in entry.items():
        if there.get(name) != value:
            text = jsonc.put(text, (key, NAME, name), value)
    return text


def without_server(text: str, key: str) -> str:
    """The text without our server, and without a list of servers that would be empty."""
    if jsonc.is_blank(text):
        return text
    servers = _servers(text, key)
    if NAME not in servers:
        return text
    _check_ours(servers[NAME])
    path = (key,) if len(servers) == 1 else (key, NAME)
    return jsonc.remove(text, path)


def server_in(text: str, key: str) -> Mapping[str, Any] | None:
    """Our server's current entry; Conflict if the name is taken."""
    if jsonc.is_blank(text):
        return None
    entry = _servers(text, key).get(NAME)
    if entry is not None:
        _check_ours(entry)
    return entry


def with_hooks(text: str, command: Command) -> str:
    """Return Claude Code's settings with one up-to-date hook for each event."""
    text = _start_text(text)
    for event, (verb, more) in HOOKS.items():
        hook_entry = {"type": "command", "command": command.hook(verb), **more}
        places = list(_our_hooks(text, event, verb))
        for path, current in places[:1]:
            if current != hook_entry:
                text = jsonc.put(text, path, hook_entry)
        if not places:
            group: dict[str, Any] = {"matcher": MATCHERS[event]} if event in MATCHERS else {}
            groups = _groups(text, event)
            text = jsonc.put(text, ("hooks", event, len(groups)), {**group, "hooks": [hook_entry]})
    return text


def without_hooks(text: str) -> str:
    """Return Claude Code's settings without our hooks and without what would be left empty."""
    if jsonc.is_blank(text):
        return text
    for event, (verb, _) in HOOKS.items():
        while found := next(_our_hooks(text, event, verb), None):
            text = jsonc.remove(text, _find_emptied(text, found[0]))
    return text


def hooks_in(text: str) -> dict[str, str]:
    """Return the program that our hook for each event runs."""
    if jsonc.is_blank(text):
        return {}
    return {
        event: ours[1]
        for event, (verb, _) in HOOKS.items()
        for _, hook in _our_hooks(text, event, verb)
        if (ours := hook_of(hook["command"]))
    }


def has_plugin(text: str) -> bool:
    """Return whether Claude Code already runs the plugin: hooks would run twice."""
    if jsonc.is_blank(text):
        return False
    enabled = _object(text).get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return any(on is True and name.split("@")[0] == NAME for name, on in names.items())


def _start_text(text: str) -> str:
    if jsonc.is_blank(text):
        comments = text.rstrip()
        return f"{comments}\n{_NEW}" if comments else _NEW
    return _NEW if text.strip() == "{}" else text


def _servers(text: str, key: str) -> dict[str, Any]:
    servers = _object(text).get(key, {})
    if not isinstance(servers, dict):
        raise _format_error(f"its {key!r} is not an object of servers")
    return servers


def _object(text: str) -> dict[str, Any]:
    try:
        value = jsonc.parse(text).value
    except jsonc.NotJson as error:
        raise _format_error(f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _format_error("it is not a JSON object")
    return value


def _groups(text: str, event: str) -> list[Any]:
    hooks = _object(text).get("hooks", {})
    if not isinstance(hooks, dict):
        raise _format_error("its 'hooks' is not an object of events")
    groups = hooks.get(event, [])
    if not isinstance(groups, list):
        raise _format_error(f"its hooks of {event} are not a list")
    return groups


def _our_hooks(text: str, event: str, verb: str) -> Iterator[tuple[jsonc.Path, dict[str, Any]]]:
    for place, group in enumerate(_groups(text, event)):
        inner = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(inner, list):
            raise _format_error(f"its hooks of {event} do not have Claude Code's documented format")
        for number, hook in enumerate(inner):
            ours = hook_of(hook.get("command")) if isinstance(hook, dict) else None
            if ours is not None and ours[0] == verb:
                yield ("hooks", event, place, "hooks", number), hook


def _find_emptied(text: str, path: jsonc.Path) -> jsonc.Path:
    """The largest thing on the path that contains nothing else."""
    value: Any = jsonc.parse(text).value
    sizes: list[int] = []
    for step in path:
        # A group is more than its list of hooks, but without one it means nothing.
        alone = isinstance(step, str) and step == "hooks" and bool(sizes)
        sizes.append(1 if alone else len(value))
        value = value[step]
    shortest = len(path)
    while shortest > 1 and sizes[shortest - 1] == 1:
        shortest -= 1
    return path[:shortest]


def _check_ours(entry: object) -> None:
    if not is_our_server(entry):
        raise Conflict(
            f"there is already a server named {NAME!r} that `recollect install` did not write",
            remedy="Rename or remove it by hand, then install again; --print shows the entry.",
        )


def _format_error(why: str) -> InvalidInput:
    return InvalidInput(
        f"the file was not changed: {why}",
        field="file",
        remedy="Fix the file, or make the change by hand; --print shows it.",
    )
