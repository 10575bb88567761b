"""Op ``export_head``: keeps the head of the ledgers in the place that setting ``head_target`` names."""

import dagster as dg

from warehouse.clock import now
from warehouse.heads import export_head as keep_head
from warehouse.settings import load_settings


@dg.op
def export_head(context: dg.OpExecutionContext) -> None:
    """Fails if the ledgers no longer hold what was kept before: a person has to look."""
    settings = load_settings()
    receipt = keep_head(settings, settings.head_target, now())
    context.add_output_metadata({"address": receipt.address, "is_new": receipt.is_new, "hash": receipt.head.seal_hash})
