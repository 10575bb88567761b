"""Money of hours and advertisers: currencies apart, and nothing of clicks that are no longer what was sealed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain.drift_history import HourError
from domain.drift_money import HourMoney, MoneySummary, PricedClicks, money_of_hours, money_summarised

TEN = datetime(2026, 5, 4, 10, tzinfo=UTC)
ELEVEN = TEN + timedelta(hours=1)


def _error(hour: datetime, advertiser_id: int, live: int, final: int) -> HourError:
    return HourError(hour, advertiser_id, live, final, live - final, 0, 0, 0, 0, 0, is_alert=False)


def test_currencies_and_advertisers_are_apart() -> None:
    """Advertiser 10: 3 live and 4 final clicks, one of them without a price. Nobody asked for advertiser 12."""
    priced = [
        PricedClicks(TEN, 10, "USD", 1, 2, 500, 1_000),
        PricedClicks(TEN, 10, None, 1, 1, 0, 0),
        PricedClicks(TEN, 10, "EUR", 1, 1, 70, 70),
        PricedClicks(TEN, 11, None, 5, 5, 0, 0),
        PricedClicks(TEN, 12, "EUR", 5, 5, 5, 5),
    ]
    found = money_of_hours([_error(TEN, 10, 3, 4), _error(TEN, 11, 5, 5)], priced)
    assert found == {(TEN, 10): [HourMoney("EUR", 70, 70, 0), HourMoney("USD", 500, 1_000, -500)]}


def test_a_side_that_is_no_longer_what_was_sealed_is_not_known() -> None:
    """Live of hour 10 was 2 clicks at the seal and is 3; of hour 11 none is left. A click without a price counts."""
    priced = [
        PricedClicks(TEN, 10, "EUR", 3, 2, 30, 20),
        PricedClicks(ELEVEN, 10, "EUR", 0, 1, 0, 10),
        PricedClicks(ELEVEN, 11, "EUR", 1, 1, 10, 10),
        PricedClicks(ELEVEN, 11, None, 0, 1, 0, 0),
    ]
    errors = [_error(TEN, 10, 2, 2), _error(ELEVEN, 10, 1, 1), _error(ELEVEN, 11, 1, 1)]
    assert money_of_hours(errors, priced) == {
        (TEN, 10): [HourMoney("EUR", None, 20, None)],
        (ELEVEN, 10): [HourMoney("EUR", None, 10, None)],
        (ELEVEN, 11): [HourMoney("EUR", 10, None, None)],
    }


def test_sums_by_advertiser_and_currency() -> None:
    """The hour of which live is not known is in no sum: not its final amount alone either, nor a zero."""
    hours = {
        (TEN, 11): [HourMoney("EUR", 1, 1, 0), HourMoney("USD", 4, None, None)],
        (TEN, 10): [HourMoney("EUR", 70, 90, -20), HourMoney("USD", 5, 0, 5)],
        (ELEVEN, 10): [HourMoney("EUR", None, 10, None)],
        (ELEVEN + timedelta(hours=1), 10): [HourMoney("EUR", 8, 9, -1)],
    }
    found = money_summarised(hours)
    assert found == {
        10: [MoneySummary("EUR", 2, 1, 78, 99, -21), MoneySummary("USD", 1, 0, 5, 0, 5)],
        11: [MoneySummary("EUR", 1, 0, 1, 1, 0), MoneySummary("USD", 0, 1, None, None, None)],
    }
    assert list(found) == [10, 11]
