"""The errors that a call raises."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional


class RelataError(Exception):
    """A refusal of the service, with its reason (docs/interface §7.1)."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after_seconds: Optional[int] = None) -> None:
        super().__init__(str(body.get("message") or f"status {status}"))
        self.status = status
        self.message: str = str(self)
        self.reason: Optional[str] = body.get("reason")
        self.details: List[str] = list(body.get("details") or [])
        self.validation: List[Dict[str, Any]] = list(body.get("validation") or [])
        self.request_id: Optional[str] = body.get("requestId")
        self.retry_after_seconds = retry_after_seconds


class UnreachableError(Exception):
    """The service could not be reached, even after the retries."""


class TaskError(Exception):
    """A task that was waited for failed or was cancelled."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        error = task.get("error") or {}
        super().__init__(f"{task.get('taskStatus')}: {error.get('message') or task.get('name') or task.get('id')}")
        self.task = dict(task)
