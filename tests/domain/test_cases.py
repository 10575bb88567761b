"""What a case id and a reason may look like."""

from __future__ import annotations

import pytest

from domain.cases import check_case
from domain.errors import UsageError
from domain.texts import MAX_CHARACTERS


@pytest.mark.parametrize("case_id", ["C-17", "late-2026-11-30T10", "a" * 64])
def test_what_people_call_a_case(case_id: str) -> None:
    check_case(case_id, "seen twice")


@pytest.mark.parametrize("case_id", ["", "-1", "a b", "a" * 65, "C-17\n"])
def test_what_is_no_case(case_id: str) -> None:
    with pytest.raises(UsageError, match="1 to 64 letters"):
        check_case(case_id, "seen twice")


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "=1+1", "x" * (MAX_CHARACTERS + 1)])
def test_what_is_no_reason(reason: str) -> None:
    with pytest.raises(UsageError, match="one line of up to 500 characters"):
        check_case("C-17", reason)
