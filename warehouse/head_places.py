"""Places outside of the ledgers in which heads are kept: a folder, or a bucket of an object store.

Belongs here: creating a file that is not there yet, whole or not at all, and reading what is there. Nothing is ever
written over or removed. What is kept is ``domain/heads.py``.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from domain.errors import TallystickError, UsageError
from domain.heads import NAME
from warehouse.whole_files import written_beside

S3 = "s3://"
READ_ONLY = 0o444


class HeadPlaceError(TallystickError):
    """The place that heads of the ledgers are kept in cannot be read or written; what it holds is as it was."""


class HeadPlace(Protocol):
    """Files by name, each created once. All calls block; ``HeadPlaceError`` if the place does not answer."""

    def newest_name(self) -> str | None:
        """The greatest name of a head that is there. Reads only."""

    def read(self, name: str) -> bytes:
        """The content of a file. Reads only."""

    def create(self, name: str, content: bytes) -> bool:
        """Atomic and repeatable: False if there is a file of this name, which then stays as it is."""

    def address(self, name: str) -> str:
        """Where a file is, for people. Pure."""


def head_place(target: str, retain_until: datetime | None) -> HeadPlace:
    """The place that a setting or option names. Only an object store can promise to keep a file until some time."""
    if target.startswith(S3):
        return _Bucket(target, retain_until)
    if not target or "://" in target:
        raise UsageError(f"target {target!r}", "a folder, or s3://bucket/prefix", "correct it")
    if retain_until is not None:
        raise UsageError(
            f"a folder, {target}, that keeps files until some time", "s3:// of a bucket with object lock", "name one"
        )
    return _Folder(Path(target))


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def newest_name(self) -> str | None:
        try:
            return max((name for name in os.listdir(self._path) if NAME.fullmatch(name)), default=None)
        except OSError as error:
            raise self._refusal(error) from error

    def read(self, name: str) -> bytes:
        try:
            return (self._path / name).read_bytes()
        except OSError as error:
            raise self._refusal(error) from error

    def create(self, name: str, content: bytes) -> bool:
        """A link fails where a file is, whereas a rename would replace it."""
        try:
            with written_beside(self._path / name, READ_ONLY, os.link) as file:
                file.write(content)
        except FileExistsError:
            return False
        except OSError as error:
            raise self._refusal(error) from error
        return True

    def address(self, name: str) -> str:
        return str(self._path / name)

    def _refusal(self, error: OSError) -> HeadPlaceError:
        return HeadPlaceError(
            f"folder {self._path}: {error.strerror}", "a folder that can be written", "make it, or name another"
        )


class _Bucket:
    """An object store by boto3, with the credentials and endpoint that this finds in its own environment."""

    def __init__(self, target: str, retain_until: datetime | None) -> None:
        parts = urlsplit(target)
        self._bucket, prefix = parts.netloc, parts.path.strip("/")
        if not self._bucket:
            raise UsageError(f"target {target!r}", "s3://bucket/prefix", "name the bucket")
        self._prefix = f"{prefix}/" if prefix else ""
        self._retain_until = retain_until and _whole_second(retain_until)
        try:
            self._errors: Any = import_module("botocore.exceptions")
            self._client: Any = import_module("boto3").client("s3")
        except ModuleNotFoundError as error:
            raise UsageError(
                f"target {target} without boto3", "the extra s3 of this package", "pip install 'tallystick[s3]'"
            ) from error

    def newest_name(self) -> str | None:
        newest = None
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=f"{self._prefix}head-"
            )
            for page in pages:
                for found in page.get("Contents", ()):
                    name = found["Key"].removeprefix(self._prefix)
                    if NAME.fullmatch(name):
                        newest = max(name, newest or name)
        except (self._errors.ClientError, self._errors.BotoCoreError) as error:
            raise self._refusal(error) from error
        return newest

    def read(self, name: str) -> bytes:
        try:
            found: bytes = self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)["Body"].read()
        except (self._errors.ClientError, self._errors.BotoCoreError) as error:
            raise self._refusal(error) from error
        return found

    def create(self, name: str, content: bytes) -> bool:
        lock: dict[str, Any] = {}
        if self._retain_until is not None:
            lock = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": self._retain_until}
        try:
            self._client.put_object(
                Bucket=self._bucket,
                Key=self._prefix + name,
                Body=content,
                ContentType="application/json",
                ChecksumAlgorithm="SHA256",
                IfNoneMatch="*",
                **lock,
            )
        except self._errors.ClientError as error:
            if error.response.get("Error", {}).get("Code") == "PreconditionFailed":
                return False
            raise self._refusal(error) from error
        except self._errors.BotoCoreError as error:
            raise self._refusal(error) from error
        return True

    def address(self, name: str) -> str:
        return f"{S3}{self._bucket}/{self._prefix}{name}"

    def _refusal(self, error: Exception) -> HeadPlaceError:
        return HeadPlaceError(
            f"bucket {self._bucket}: {error}", "a bucket that can be listed, read and written", "see to it, and again"
        )


def _whole_second(at: datetime) -> datetime:
    """The next one: boto3 cuts a fraction off, and the lock would end before the time that was promised."""
    return at + timedelta(microseconds=-at.microsecond % 1_000_000)
