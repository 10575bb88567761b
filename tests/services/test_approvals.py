"""Two tokens, two people, and the second may approve."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.settings import Settings
from services.approvals import Approval, ApprovalError, approval_of, read_approval
from services.secrets import SecretError
from services.tokens import Caller, TokenError, make_token, token_key

AT = datetime(2026, 12, 2, tzinfo=UTC)
ADA, GRACE = Caller("finance", person="ada"), Caller("approve", person="grace")


def _file(folder: Path, name: str, text: str, mode: int = 0o600) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_two_token_files(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    key = token_key(settings)
    ada, grace = (_file(tmp_path, str(c.person), f"{make_token(key, c, AT)}\n") for c in (ADA, GRACE))
    assert read_approval(settings, ada, grace, AT) == Approval("ada", "grace")
    with pytest.raises(ApprovalError, match="role finance; expected one of role approve"):
        read_approval(settings, grace, ada, AT)
    with pytest.raises(TokenError):
        read_approval(settings, ada, _file(tmp_path, "typed", "grace"), AT)
    with pytest.raises(TokenError, match="damaged or was not signed by us"):
        read_approval(settings, ada, _file(tmp_path, "foreign", make_token(b"o" * 32, GRACE, AT)), AT)
    with pytest.raises(SecretError, match="no file"):
        read_approval(settings, ada, tmp_path / "absent", AT)
    with pytest.raises(SecretError, match="has mode 0644"):
        read_approval(settings, ada, _file(tmp_path, "open", make_token(key, GRACE, AT), 0o644), AT)


@pytest.mark.parametrize(
    ("requester", "approver", "found"),
    [
        (Caller("approve", person="grace"), GRACE, "grace asks and approves"),
        (Caller("finance"), GRACE, "names no person"),
        (Caller("advertiser", 10, "ada"), GRACE, "names no person of ours"),
        (ADA, Caller("operator", person="grace"), "an approver's token of role operator"),
    ],
)
def test_who_may_not(requester: Caller, approver: Caller, found: str) -> None:
    with pytest.raises(ApprovalError, match=found):
        approval_of(requester, approver)
