"""Two people for one step: who asks and who approves, each by a token, never by a name that somebody typed.

Belongs here: reading the two tokens and what they must say. What a token is: ``services/tokens.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.errors import TallystickError
from domain.settings import Settings
from services.secrets import SecretError, read_secret
from services.tokens import Caller, read_token, token_key


class ApprovalError(TallystickError):
    """A step needs two people, and the tokens do not speak for two who may take it."""


@dataclass(frozen=True)
class Approval:
    """Who asked and who approved; two people."""

    requested_by: str
    approved_by: str


def read_approval(settings: Settings, requester_file: Path, approver_file: Path, now: datetime) -> Approval:
    """The approval that two token files make; ``ApprovalError``, ``TokenError`` or ``SecretError`` if none."""
    key = token_key(settings)
    requester = read_token(key, _token(requester_file), now)
    approver = read_token(key, _token(approver_file), now)
    return approval_of(requester, approver)


def approval_of(requester: Caller, approver: Caller) -> Approval:
    """The approval of two callers; ``ApprovalError`` unless they are two people and the second may approve."""
    if requester.person is None or requester.role == "advertiser":
        raise ApprovalError(f"a requester's token of role {requester.role} that names no person of ours", _WHO, _REMEDY)
    if approver.role != "approve" or approver.person is None:
        raise ApprovalError(f"an approver's token of role {approver.role}", "one of role approve", _REMEDY)
    if approver.person == requester.person:
        raise ApprovalError(f"{requester.person} asks and approves", "two people", "let somebody else approve")
    return Approval(requester.person, approver.person)


_WHO = "one that names who asks"
_REMEDY = "make one by `tallystick token --role ROLE --person NAME`"


def _token(path: Path) -> str:
    try:
        return read_secret(path).decode("ascii").strip()
    except FileNotFoundError:
        raise SecretError(f"no file {path}", "a file that holds a token", "correct its name") from None
    except UnicodeDecodeError:
        raise SecretError(f"{path} holds no token", "a file that holds a token", "correct its name") from None
