"""Tests of the client against a service; `RELATA_TEST` chooses one by its name."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from relata import Relata, RelataError, TaskError, UnreachableError  # noqa: E402


def drills(count: int) -> Iterator[Dict[str, Any]]:
    for number in range(count):
        yield {
            "identifier": str(number),
            "name": f"Bohrmaschine Nr. {number}, Größe L",
            "attributes": [{"key": "Chuck", "value": "SDS-plus" if number % 2 == 0 else "SDS-max"}],
        }


def same(expected: Any, found: Any, what: str) -> None:
    if expected != found:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


def refused(call: Callable[[], Any]) -> RelataError:
    try:
        call()
    except RelataError as error:
        return error
    raise AssertionError("nothing was refused")


def full_update(relata: Relata, project: int) -> None:
    seen: List[int] = []

    def confirm(preview: Dict[str, Any]) -> bool:
        seen.append(preview["created"]["count"])
        return True

    result = relata.products.full_update(drills(12_000), project_id=project, confirm=confirm, on_batch=seen.append)
    same([10_000, 12_000, 12_000], seen, "batches, then the preview")
    same((12_000, "FINISHED"), (result.sent, (result.task or {}).get("taskStatus")), "the result")
    no = relata.products.full_update(drills(5), project_id=project, confirm=lambda _: False)
    same(None, no.task, "what is not confirmed is not done")
    relata.products.give_up_full_update(project_id=project)
    same(12_000, sum(1 for _ in relata.products.export(project)), "the catalog")
    guard = refused(lambda: relata.products.full_update(drills(5), project_id=project))
    same((400, "delete_guard"), (guard.status, guard.reason), "the delete guard")


def updates(relata: Relata, project: int) -> None:
    relata.products.full_update(drills(5), project_id=project)
    [answer] = relata.products.replace([{"identifier": "A/1 ä", "name": "New"}], project_id=project)
    same("FINISHED", relata.tasks.wait(answer["task"]["id"])["taskStatus"], "an incremental update")
    [answer] = relata.products.change([{"identifier": "1", "attributes": {"Chuck": "none"}}], project_id=project)
    relata.tasks.wait(answer["task"]["id"])
    found = relata.products.look_up(["A/1 ä", "1", "gone"], project_id=project)
    same(["New", "Bohrmaschine Nr. 1, Größe L"], [one["name"] for one in found], "a lookup")
    same("none", found[1]["facts"][0]["value"], "a partial update")
    same(404, refused(lambda: relata.products.look_up_one("gone", project_id=project)).status, "one that is not there")
    [answer] = relata.products.delete(["1"], project_id=project)
    relata.tasks.wait(answer["task"]["id"])
    same([], relata.products.look_up(["1"], project_id=project), "a deletion")
    task = relata.products.restore(project_id=project)["task"]
    relata.tasks.wait(task["id"])
    same(1, len(relata.products.look_up(["1"], project_id=project)), "a restore")
    same(True, len(relata.tasks.list(project_id=project, limit=2)) == 2, "a list of tasks")


def resume(relata: Relata, project: int) -> None:
    class Broken(Exception):
        pass

    def breaking() -> Iterator[Dict[str, Any]]:
        yield from drills(25_000)
        raise Broken

    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "push.json"
        try:
            relata.products.push(breaking(), project_id=project, resume=notes)
        except Broken:
            pass
        sent: List[int] = []
        write = relata.products._transport.write

        def counting(method: str, path: str, *rest: Any) -> Any:
            if path.endswith("/upload"):
                sent.append(1)
            return write(method, path, *rest)

        relata.products._transport.write = counting  # type: ignore[method-assign]
        result = relata.products.push(drills(25_000), project_id=project, resume=notes)
        same((25_000, 1), (result.sent, len(sent)), "only what was not accepted is sent again")
        same(False, notes.exists(), "the notes go with the end")


def relations(relata: Relata, project: int) -> None:
    products = [
        {"identifier": "B", "name": "City bike", "attributes": {"Kind": "bike", "Width": "50 mm"}},
        {"identifier": "T40", "name": "Tyre", "attributes": {"Kind": "tyre", "Width": "40 mm"}},
        {"identifier": "T60", "name": "Tyre", "attributes": {"Kind": "tyre", "Width": "60 mm"}},
    ]
    sent = [{**one, "attributes": [{"key": k, "value": v} for k, v in one["attributes"].items()]} for one in products]
    relata.products.full_update(sent, project_id=project)

    def kind(name: str) -> Dict[str, Any]:
        return {"attribute": "Kind", "operator": "equals", "value": name}

    rule = {
        **{"name": "Tyres", "tag": "tyres", "source": kind("bike"), "target": kind("tyre"), "constraint": True},
        "match": [{"target": "Width", "operator": "lessOrEqual", "source": "Width"}],
    }
    transport = relata.products._transport
    made = transport.write("POST", f"/management/projects/{project}/relations", None, rule)
    for task in relata.tasks.list(project_id=project):
        if task["taskStatus"] in ("PENDING", "RUNNING"):
            relata.tasks.wait(task["id"])
    asked: Any = {"include_tags": [{"tag": "tyres"}], "project_id": project}
    [tag] = relata.relations.related_to("B", **asked)["tags"]
    same(["T40"], [one["identifier"] for one in tag["relations"][0]["searchResult"]], "related products")
    many = relata.relations.related_to_many(["B", "T40"], **asked)
    same(["B", "T40"], list(many), "of many")
    same("fits", relata.relations.fit(["B", "T40"], project_id=project)["verdict"], "what fits")
    fit = relata.relations.fit([{"identifier": "B"}, {"identifier": "T60", "quantity": 2}], relations=[made["id"]], project_id=project)
    same("does_not_fit", fit["verdict"], "what does not")
    found = relata.products.search("tyre", filter={"attribute": "Width", "operator": "less", "value": 50}, project_id=project)
    same((1, ["T40"]), (found["total"], [one["identifier"] for one in found["items"]]), "a search")


def errors(relata: Relata, project: int) -> None:
    wrong = refused(lambda: relata.products.replace([{"identifier": ""}], project_id=project))
    same(400, wrong.status, "the status of a refusal")
    same(True, len(wrong.validation) > 0 and wrong.request_id is not None, "what was wrong")
    relata.products.full_update(drills(1), project_id=project)
    try:
        Relata("http://127.0.0.1:9", "k", retries=0, timeout=1).products.look_up_one("A")
        raise AssertionError("nobody is there")
    except UnreachableError:
        pass
    same(True, issubclass(TaskError, Exception), "a task that failed is an error of its own")


TESTS: Dict[str, Callable[[Relata, int], None]] = {
    "a full update reads a generator, and shows a preview before the commit": full_update,
    "products are replaced, changed, deleted, looked up and restored": updates,
    "an interrupted push resumes after the last accepted batch": resume,
    "returns related products, verdicts of fit and search results": relations,
    "a refusal raises an error with its reason": errors,
}

if __name__ == "__main__":
    for name, run in TESTS.items():
        if os.environ.get("RELATA_TEST", name) != name:
            continue
        run(Relata(os.environ["RELATA_URL"], os.environ["RELATA_API_KEY"]), int(os.environ["RELATA_PROJECT"]))
        print(f"ok {name}")
