"""Asset ``ads``: the catalogue of ads as of each change."""

import dagster as dg

from assets.metadata import table_metadata, table_spec
from warehouse.ads import read_ads_file, snapshot_ads
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.settings import load_settings


@dg.multi_asset(specs=[table_spec("ads")], group_name="catalogue", pool="ads")
def ads(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    """Takes new and changed ads from the catalogue file; without a file the table stays as it is."""
    settings = load_settings()
    create_missing_tables(settings)
    if not settings.ads_path.exists():
        context.log.info("no catalogue file at %s: the table stays as it is", settings.ads_path)
        return dg.MaterializeResult(asset_key="ads", metadata=table_metadata(settings, "ads"))
    receipt = snapshot_ads(settings, read_ads_file(settings.ads_path), now())
    changes = {"added": receipt.added_count, "changed": receipt.changed_count, "unchanged": receipt.unchanged_count}
    return dg.MaterializeResult(asset_key="ads", metadata={**table_metadata(settings, "ads"), **changes})
