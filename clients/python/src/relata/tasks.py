"""Tasks (docs/interface §4.7)."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, cast
from urllib.parse import quote

from .errors import TaskError
from .transport import Transport
from .types import Task

_WAIT_SECONDS = 30


class Tasks:
    """Work of the service after its answer."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, task_id: str) -> Task:
        return cast(Task, self._transport.read("GET", f"/tasks/{quote(task_id)}")["task"])

    def list(self, project_id: Optional[int] = None, limit: Optional[int] = None) -> List[Task]:
        answer = self._transport.read("GET", "/tasks", {"projectId": project_id, "limit": limit})
        return cast(List[Task], answer["tasks"])

    def wait(self, task_id: str) -> Task:
        """The task, once it has ended. Raises TaskError if it failed or was cancelled."""
        while True:
            path = f"/tasks/{quote(task_id)}"
            task = self._transport.read("GET", path, {"wait": _WAIT_SECONDS})["task"]
            if task["finishTime"] is None:
                continue
            if task["taskStatus"] != "FINISHED":
                raise TaskError(task)
            return cast(Task, task)

    def log(self, task_id: str) -> List[Dict[str, Any]]:
        """Oldest line first."""
        return cast(List[Dict[str, Any]], self._transport.read("GET", f"/tasks/{quote(task_id)}/log")["log"])

    def report(self, task_id: str) -> Iterator[Dict[str, Any]]:
        """The report on single products, line by line."""
        return self._transport.lines(f"/tasks/{quote(task_id)}/report")

    def cancel(self, task_id: str) -> Any:
        return self._transport.write("POST", f"/tasks/{quote(task_id)}/cancel")
