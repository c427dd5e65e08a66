"""The bodies and answers of docs/interface. Answers may have more members."""

from __future__ import annotations

from typing import Any, Dict, List, TypedDict, Union


class _Identified(TypedDict):
    identifier: str


class Product(_Identified, total=False):
    """A product as it is uploaded (docs/interface §2.3)."""

    name: str
    groupIdentifier: str
    productUrl: str
    image: str
    images: List[Dict[str, str]]
    categories: List[Dict[str, Any]]
    attributes: Union[List[Dict[str, Any]], Dict[str, Any]]
    settings: Dict[str, Any]


class Task(TypedDict, total=False):
    """A task (docs/interface §2.4)."""

    id: str
    projectId: int
    taskStatus: str
    name: str
    progress: int
    error: Dict[str, Any]
    warnings: List[str]


class IncludedTag(TypedDict, total=False):
    tag: str
    limitPerRelation: int


class IncludedRelation(TypedDict, total=False):
    id: int
    limit: int


class FitItem(_Identified, total=False):
    quantity: int
