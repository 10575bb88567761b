"""``tallystick differences``: the clicks that only live or only final has of an hour, each with its cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, out, print_json, print_table
from cli.hours import hours_asked_for
from domain.errors import IntegrityError
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.identity import LogPosition
    from quality.live_differences import HourDifferences

COLUMNS = ("position", "impression", "ad", "advertiser", "minute", "counted by", "cause", "evidence")


def differences(
    hour: Annotated[str, typer.Argument(metavar="HOUR", help="A final hour, UTC, such as 2026-01-31T13:00Z.")],
    advertiser: Annotated[int | None, typer.Option(min=1, help="Only this advertiser.")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Print each click that only one count of an hour has. Ends with 4 if table drift says something else."""
    (asked,) = hours_asked_for(hour, None)
    from quality.live_differences import live_differences

    found = live_differences(load_settings(), asked, advertiser)
    if is_json:
        for document in _documents(found):
            print_json(document)
    else:
        _show(found)
    disagreements = [total.disagreement for total in found.totals if total.disagreement]
    if disagreements:
        raise IntegrityError(
            "; ".join(disagreements),
            f"what table drift says of seal {found.seal.number}",
            "the live count moved after the seal, or a table was changed: docs/differences.md says how to tell",
        )
    note(f"totals of {len(found.totals):,} advertisers are those of table drift, seal {found.seal.number}")


def _show(found: HourDifferences) -> None:
    print_table(COLUMNS, [_cells(document) for document in _documents(found) if document["line"] == "click"])
    for rest in found.keys:
        counted = "more" if rest.side == "live" else "fewer"
        key = ", ".join(f"{name.removesuffix('_id')} {value}" for name, value in _key(rest.key).items())
        out.print(f"{rest.cause}: live counted {rest.clicks:,} {counted} than it should have: {key}", markup=False)
    columns = ("advertiser_id", "live", "final", "difference")
    rows = [(str(t.advertiser_id), t.live_clicks, t.final_clicks, t.live_clicks - t.final_clicks) for t in found.totals]
    print_table(columns, rows)


def _cells(document: dict[str, Any]) -> tuple[object, ...]:
    evidence = document["verdict_id"] or (f"copy {document['other']}" if document["other"] else None)
    who = (str(document["ad_id"]), str(document["advertiser_id"]), document["minute"])
    return (document["position"], document["impression_id"], *who, document["side"], document["cause"], evidence)


def _documents(found: HourDifferences) -> Iterator[dict[str, Any]]:
    """Clicks, then rows of the live count, then totals; ``line`` says which."""
    for one in found.clicks:
        told = {"position": _place(one.position), "impression_id": one.impression_id, **_key(one.key)}
        evidence = {"other": _place(one.other), "verdict_id": one.verdict_id}
        yield {"line": "click", **told, "side": one.side, "cause": one.cause, **evidence}
    for rest in found.keys:
        yield {"line": "key", **_key(rest.key), "side": rest.side, "cause": rest.cause, "clicks": rest.clicks}
    for total in found.totals:
        clicks = {"live_clicks": total.live_clicks, "final_clicks": total.final_clicks}
        yield {
            "line": "total",
            "advertiser_id": total.advertiser_id,
            **clicks,
            "is_as_in_drift": not total.disagreement,
        }


def _key(key: Any) -> dict[str, Any]:
    return dict(key._asdict())


def _place(position: LogPosition | None) -> str | None:
    return None if position is None else ":".join(map(str, position))
