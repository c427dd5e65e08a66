"""The Python client of Relata. Names are those of the TypeScript and PHP clients."""

from __future__ import annotations

from .errors import RelataError, TaskError, UnreachableError
from .products import FullUpdateResult, Products
from .relations import Relations
from .tasks import Tasks
from .transport import Transport
from .types import FitItem, IncludedRelation, IncludedTag, Product, Task

__all__ = [
    "FitItem",
    "FullUpdateResult",
    "IncludedRelation",
    "IncludedTag",
    "Product",
    "Relata",
    "RelataError",
    "Task",
    "TaskError",
    "UnreachableError",
]


class Relata:
    """A service with a key. A key of one project needs no `project_id` in a call."""

    def __init__(self, url: str, key: str, *, retries: int = 3, timeout: float = 120.0) -> None:
        transport = Transport(url, key, retries=retries, timeout=timeout)
        self.tasks = Tasks(transport)
        self.products = Products(transport, self.tasks)
        self.relations = Relations(transport)
