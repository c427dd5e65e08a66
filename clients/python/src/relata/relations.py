"""Related products, and whether products fit (docs/interface §4.8, §12.10)."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

from .transport import Transport
from .types import FitItem, IncludedRelation, IncludedTag

# The recommended number for one request (docs/interface §4.8).
_AT_ONCE = 100


class Relations:
    """Related products."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def related_to(
        self,
        identifier: str,
        *,
        include_tags: Sequence[IncludedTag] = (),
        include_relations: Sequence[IncludedRelation] = (),
        explain: bool = False,
        project_id: Optional[int] = None,
    ) -> Dict[str, Any]:
        """The products related to one product: `{"tags": [...]}`."""
        question = _ask(include_tags, include_relations, explain, project_id)
        return self._post("result", {"identifier": identifier, **question})

    def related_to_many(
        self,
        identifiers: Iterable[str],
        *,
        include_tags: Sequence[IncludedTag] = (),
        include_relations: Sequence[IncludedRelation] = (),
        explain: bool = False,
        project_id: Optional[int] = None,
    ) -> Dict[str, Any]:
        """The products related to each of many products, by identifier. Each request has 100 identifiers."""
        question = _ask(include_tags, include_relations, explain, project_id)
        every = list(identifiers)
        related: Dict[str, Any] = {}
        for at in range(0, len(every), _AT_ONCE):
            related.update(self._post("bulk-results", {"identifiers": every[at : at + _AT_ONCE], **question}))
        return related

    def fit(
        self,
        items: Sequence[Union[str, FitItem]],
        *,
        tags: Sequence[str] = (),
        relations: Sequence[int] = (),
        alternatives: int = 0,
        project_id: Optional[int] = None,
    ) -> Dict[str, Any]:
        """Whether products can be used together: `verdict`, `pairs`, `totals` and other fields."""
        named: List[Any] = [{"identifier": one} if isinstance(one, str) else one for one in items]
        question = {"items": named, "projectId": project_id, "alternatives": alternatives or None}
        question.update({"tags": list(tags) or None, "relations": list(relations) or None})
        return self._post("fit", {name: value for name, value in question.items() if value is not None})

    def _post(self, path: str, question: Dict[str, Any]) -> Dict[str, Any]:
        answer: Dict[str, Any] = self._transport.read("POST", f"/search/relations/{path}", None, question)
        return answer


def _ask(
    include_tags: Sequence[IncludedTag],
    include_relations: Sequence[IncludedRelation],
    explain: bool,
    project_id: Optional[int],
) -> Dict[str, Any]:
    asked: Dict[str, Any] = {"includeTags": list(include_tags), "includeRelations": list(include_relations)}
    asked.update({"explain": explain, "projectId": project_id})
    return {name: value for name, value in asked.items() if value}
