"""Updates, lookup, search and export of products (docs/interface §4.2 to §4.6, §4.13)."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import RelataError
from .tasks import Tasks
from .transport import Transport
from .types import Product, Task

# The maximum of products in a request, and a JSON size far below the limit of the service (docs/interface §8).
_MOST_ITEMS = 10_000
_MOST_BYTES = 8_000_000
_LOOKED_UP = 1_000

AnyProduct = Union[Product, Mapping[str, Any]]


@dataclass(frozen=True)
class FullUpdateResult:
    """The result of a full update. `task` is None if `confirm` returned False."""

    full_update_id: int
    sent: int
    task: Optional[Task]


class Products:
    """The catalog of a project."""

    def __init__(self, transport: Transport, tasks: Tasks) -> None:
        self._transport = transport
        self._tasks = tasks

    def full_update(
        self,
        products: Iterable[AnyProduct],
        *,
        project_id: Optional[int] = None,
        confirm: Optional[Callable[[Dict[str, Any]], bool]] = None,
        on_batch: Optional[Callable[[int], None]] = None,
        allow_deletes: Optional[int] = None,
        on_invalid: Optional[str] = None,
        resume: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> FullUpdateResult:
        """
        Makes the catalog equal to the given products: other products are deleted. Keeps one batch in memory.

        `confirm` gets the preview of the commit, and False leaves the catalog unchanged. `resume` names a file that records
        the accepted batches. After an interruption, the same call with the same products resumes after these batches.
        """
        notes = _Notes(resume)
        full_update_id = self._begin(project_id, notes)
        query = {"projectId": project_id, "fullUpdateId": full_update_id, "onInvalid": on_invalid}
        sent = batches = 0
        for body, count in _batches("products", products):
            if not notes.has(batches, body):
                self._transport.write("POST", "/products/batch/upload", query, body)
                notes.add(batches, body)
            batches += 1
            sent += count
            if on_batch is not None:
                on_batch(sent)
        if confirm is not None and not confirm(self.preview(project_id=project_id, full_update_id=full_update_id)):
            return FullUpdateResult(full_update_id, sent, None)
        session: Dict[str, Any] = {"project_id": project_id, "full_update_id": full_update_id}
        answer = self.start(**session, allow_deletes=allow_deletes, batches=batches)
        task = self._tasks.wait(answer["data"]["task"]["id"])
        notes.forget()
        return FullUpdateResult(full_update_id, sent, task)

    push = full_update

    def initiate(self, *, project_id: Optional[int] = None) -> Dict[str, Any]:
        """Opens a full update, step 1 of 3."""
        answer: Dict[str, Any] = self._transport.write("POST", "/products/batch/initiate", {"projectId": project_id})
        return answer

    def upload(
        self,
        products: Iterable[AnyProduct],
        *,
        project_id: Optional[int] = None,
        full_update_id: Optional[int] = None,
        on_invalid: Optional[str] = None,
    ) -> List[Dict[str, Any]]:
        """Sends products of a full update, step 2 of 3, in as many batches as needed. Returns the answer to each."""
        query = {"projectId": project_id, "fullUpdateId": full_update_id, "onInvalid": on_invalid}
        return self._send("/products/batch/upload", query, "products", products)

    def start(
        self,
        *,
        project_id: Optional[int] = None,
        full_update_id: Optional[int] = None,
        allow_deletes: Optional[int] = None,
        batches: Optional[int] = None,
    ) -> Dict[str, Any]:
        """Commits the open full update, step 3 of 3. The task is in `data`."""
        query = {"projectId": project_id, "fullUpdateId": full_update_id, "allowDeletes": allow_deletes}
        path = "/products/batch/start"
        answer: Dict[str, Any] = self._transport.write("POST", path, {**query, "batches": batches})
        return answer

    def preview(self, *, project_id: Optional[int] = None, full_update_id: Optional[int] = None) -> Dict[str, Any]:
        """The effect that a commit of the open full update would have."""
        query = {"projectId": project_id, "fullUpdateId": full_update_id}
        answer: Dict[str, Any] = self._transport.write("POST", "/products/batch/preview", query)
        return answer

    def give_up_full_update(self, *, project_id: Optional[int] = None) -> Any:
        return self._transport.write("DELETE", "/products/batch", {"projectId": project_id})

    def replace(self, products: Iterable[AnyProduct], *, project_id: Optional[int] = None) -> List[Dict[str, Any]]:
        """An incremental update: replaces or creates products. Returns the answer to each batch."""
        return self._send("/products", {"projectId": project_id}, "products", products)

    def change(self, products: Iterable[AnyProduct], *, project_id: Optional[int] = None) -> List[Dict[str, Any]]:
        """A partial update: changes only the fields and attributes that the products name."""
        return self._send("/products", {"projectId": project_id, "partial": True}, "products", products)

    def delete(self, identifiers: Iterable[str], *, project_id: Optional[int] = None) -> List[Dict[str, Any]]:
        return self._send("/products/delete", {"projectId": project_id}, "identifiers", identifiers)

    def restore(self, *, project_id: Optional[int] = None) -> Dict[str, Any]:
        """Undoes the last commit or delete."""
        answer: Dict[str, Any] = self._transport.write("POST", "/products/batch/restore", {"projectId": project_id})
        return answer

    def look_up(self, identifiers: Sequence[str], *, project_id: Optional[int] = None) -> List[Dict[str, Any]]:
        """The found products, in the order of the identifiers. Each request has 1,000 identifiers."""
        found: List[Dict[str, Any]] = []
        for at in range(0, len(identifiers), _LOOKED_UP):
            body = {"identifiers": list(identifiers[at : at + _LOOKED_UP])}
            path = "/product-service/products-by-sku"
            found += self._transport.read("POST", path, {"projectId": project_id}, body)["products"]
        return found

    def look_up_one(self, identifier: str, *, project_id: Optional[int] = None) -> Dict[str, Any]:
        """Raises RelataError with status 404 if the product does not exist."""
        query = {"identifier": identifier, "projectId": project_id}
        answer: Dict[str, Any] = self._transport.read("GET", "/product-service/product-by-sku", query)
        return answer

    def search(
        self,
        q: Optional[str] = None,
        *,
        filter: Optional[Union[str, Mapping[str, Any]]] = None,
        category: Optional[Sequence[str]] = None,
        sort: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        project_id: Optional[int] = None,
    ) -> Dict[str, Any]:
        """A page of products by words and filters, with total and facets (docs/interface §4.13)."""
        query = {"q": q, "filter": filter, "category": category, "sort": sort, "limit": limit, "cursor": cursor}
        answer: Dict[str, Any] = self._transport.read("GET", "/search/products", {**query, "projectId": project_id})
        return answer

    def export(self, project_id: int) -> Iterator[Dict[str, Any]]:
        """The whole catalog in upload form, as it arrives."""
        return self._transport.lines(f"/management/projects/{project_id}/products", {"format": "ndjson"})

    def _begin(self, project_id: Optional[int], notes: "_Notes") -> int:
        """The full update of the notes if it is still open, otherwise a new one."""
        if notes.full_update_id is not None:
            try:
                self.preview(project_id=project_id, full_update_id=notes.full_update_id)
                return notes.full_update_id
            except RelataError as error:
                if error.status != 400:
                    raise
        answer = self.initiate(project_id=project_id)
        notes.begin(answer["fullUpdateId"])
        return int(answer["fullUpdateId"])

    def _send(self, path: str, query: Dict[str, Any], member: str, items: Iterable[Any]) -> List[Dict[str, Any]]:
        return [self._transport.write("POST", path, query, body) for body, _ in _batches(member, items)]


class _Notes:
    """The accepted batches of a full update, in a file. Without a file nothing is recorded."""

    def __init__(self, path: Optional[Union[str, "os.PathLike[str]"]]) -> None:
        self._path = None if path is None else Path(path)
        noted: Dict[str, Any] = {}
        if self._path is not None and self._path.exists():
            noted = json.loads(self._path.read_text("utf-8"))
        self.full_update_id: Optional[int] = noted.get("fullUpdateId")
        self._hashes: List[str] = list(noted.get("batches", []))

    def begin(self, full_update_id: int) -> None:
        self.full_update_id = full_update_id
        self._hashes = []
        self._save()

    def has(self, at: int, body: bytes) -> bool:
        return at < len(self._hashes) and self._hashes[at] == _hash(body)

    def add(self, at: int, body: bytes) -> None:
        self._hashes = [*self._hashes[:at], _hash(body)]
        self._save()

    def forget(self) -> None:
        if self._path is not None and self._path.exists():
            self._path.unlink()

    def _save(self) -> None:
        if self._path is None:
            return
        # Renamed when it is complete, so an interrupted program leaves the notes of the previous batch.
        part = self._path.with_name(f"{self._path.name}.part")
        part.write_text(json.dumps({"fullUpdateId": self.full_update_id, "batches": self._hashes}), "utf-8")
        os.replace(part, self._path)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _batches(member: str, items: Iterable[Any]) -> Iterator[Tuple[bytes, int]]:
    """Bodies of limited number and size, made as the items arrive."""
    texts: List[bytes] = []
    size = 0
    for item in items:
        text = json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()
        if texts and (len(texts) == _MOST_ITEMS or size + len(text) > _MOST_BYTES):
            yield _join(member, texts), len(texts)
            texts, size = [], 0
        texts.append(text)
        size += len(text)
    if texts:
        yield _join(member, texts), len(texts)


def _join(member: str, texts: List[bytes]) -> bytes:
    return b'{"%s":[%s]}' % (member.encode(), b",".join(texts))
