"""All tables, one file each; ``TABLES`` by name. A new table is a new file and one line here."""

from warehouse.table import Table
from warehouse.tables.adjustments import ADJUSTMENTS
from warehouse.tables.ads import ADS
from warehouse.tables.alert_dead_letters import ALERT_DEAD_LETTERS
from warehouse.tables.alerts import ALERTS
from warehouse.tables.click_exclusions import CLICK_EXCLUSIONS
from warehouse.tables.click_identities import CLICK_IDENTITIES
from warehouse.tables.click_outcomes_hour import CLICK_OUTCOMES_HOUR
from warehouse.tables.disputes import DISPUTES
from warehouse.tables.documents import DOCUMENTS
from warehouse.tables.drift import DRIFT
from warehouse.tables.fetch_log import FETCH_LOG
from warehouse.tables.final_clicks_day import FINAL_CLICKS_DAY
from warehouse.tables.final_clicks_hour import FINAL_CLICKS_HOUR
from warehouse.tables.final_clicks_minute import FINAL_CLICKS_MINUTE
from warehouse.tables.fraud_verdicts import FRAUD_VERDICTS
from warehouse.tables.late_clicks import LATE_CLICKS
from warehouse.tables.links import LINKS
from warehouse.tables.live_clicks_minute import LIVE_CLICKS_MINUTE
from warehouse.tables.logs import LOGS
from warehouse.tables.near_duplicates import NEAR_DUPLICATES
from warehouse.tables.period_closes import PERIOD_CLOSES
from warehouse.tables.proposal_dismissals import PROPOSAL_DISMISSALS
from warehouse.tables.publications import PUBLICATIONS
from warehouse.tables.quality_metrics import QUALITY_METRICS
from warehouse.tables.quality_overrides import QUALITY_OVERRIDES
from warehouse.tables.quality_verdicts import QUALITY_VERDICTS
from warehouse.tables.quarantined_clicks import QUARANTINED_CLICKS
from warehouse.tables.raw_clicks import RAW_CLICKS
from warehouse.tables.reconciled_clicks_minute import RECONCILED_CLICKS_MINUTE
from warehouse.tables.rejected_verdicts import REJECTED_VERDICTS
from warehouse.tables.retention_steps import RETENTION_STEPS
from warehouse.tables.seals import SEALS
from warehouse.tables.stream_batches import STREAM_BATCHES
from warehouse.tables.stream_marks import STREAM_MARKS
from warehouse.tables.verifications import VERIFICATIONS

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        RAW_CLICKS,
        CLICK_IDENTITIES,
        QUARANTINED_CLICKS,
        ADS,
        FRAUD_VERDICTS,
        REJECTED_VERDICTS,
        LIVE_CLICKS_MINUTE,
        STREAM_MARKS,
        STREAM_BATCHES,
        LATE_CLICKS,
        RECONCILED_CLICKS_MINUTE,
        CLICK_EXCLUSIONS,
        CLICK_OUTCOMES_HOUR,
        FINAL_CLICKS_MINUTE,
        FINAL_CLICKS_HOUR,
        FINAL_CLICKS_DAY,
        DRIFT,
        SEALS,
        PUBLICATIONS,
        PERIOD_CLOSES,
        ADJUSTMENTS,
        DISPUTES,
        VERIFICATIONS,
        PROPOSAL_DISMISSALS,
        RETENTION_STEPS,
        QUALITY_METRICS,
        QUALITY_VERDICTS,
        QUALITY_OVERRIDES,
        ALERTS,
        ALERT_DEAD_LETTERS,
        LOGS,
        DOCUMENTS,
        LINKS,
        FETCH_LOG,
        NEAR_DUPLICATES,
    )
}
