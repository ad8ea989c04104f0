"""Every error Recollect raises on purpose, and what a person can do about it.

    RecollectError
    ├── InvalidInput          what was sent cannot be accepted; `field` names the culprit
    │   └── AmbiguousId       a prefix that matches several memories
    ├── NotFound              no such memory for this owner
    ├── Conflict              the memory changed meanwhile, or its id is taken
    ├── NotAllowed            no key, or one that is not known
    │   └── Forbidden         the key is known, but its role or project does not allow this
    ├── ModelUnavailable      a model cannot be loaded or reached, or answers wrongly
    │   ├── ModelBusy         it asks clients to wait `seconds`
    │   └── ModelSlow         it did not answer in time
    └── StoreError            the store could not do its work
        ├── StoreUnavailable  it cannot be reached
        ├── StoreBusy         another process holds it
        │   └── Overloaded    a server refused it before doing anything; try after `seconds`
        │       └── RateLimited   this key sends too many requests
        ├── StoreReadOnly     it cannot be written
        └── StoreFull         the disk is full

Shells turn the class into an exit code, a status or a tool error; the two texts, what went wrong
and what to do next, are the same everywhere.
"""

from __future__ import annotations


class RecollectError(Exception):
    """Says what went wrong (`str(error)`) and what to do next (`error.remedy`)."""

    def __init__(self, message: str, *, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class InvalidInput(RecollectError):
    """The input cannot be accepted."""

    def __init__(self, message: str, *, field: str, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.field = field


class AmbiguousId(InvalidInput):
    """An id prefix that matches more than one memory."""


class NotFound(RecollectError):
    """The owner has no such memory."""


class Conflict(RecollectError):
    """Someone else changed the memory first, or the id belongs to another memory."""


class NotAllowed(RecollectError):
    """The caller did not send a known key."""


class Forbidden(NotAllowed):
    """The key is known, but its role or project does not allow this."""


class ModelUnavailable(RecollectError):
    """A model cannot be loaded or reached, or gives an invalid answer."""


class ModelBusy(ModelUnavailable):
    """The model's service asks to wait, for `seconds` if it says how long."""

    def __init__(self, message: str, *, seconds: float = 0.0, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.seconds = seconds


class ModelSlow(ModelUnavailable):
    """A model did not answer in time; fewer texts at once may help."""


class StoreError(RecollectError):
    """The store failed; nothing that was acknowledged is lost."""


class StoreUnavailable(StoreError):
    """The store cannot be reached."""


class StoreBusy(StoreError):
    """Another process holds the store for too long."""


class Overloaded(StoreBusy):
    """A server has more work than it can answer in time, or a key uses more than its share. Nothing
    was done: try again after `seconds`.
    """

    def __init__(self, message: str, *, seconds: float = 1.0, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.seconds = seconds


class RateLimited(Overloaded):
    """A key has exceeded its rate limit."""


class StoreReadOnly(StoreError):
    """The store can be read but not written."""


class StoreFull(StoreError):
    """There is no room left for the write."""
