"""Property tests of pure rules: how long one example takes on a busy machine is nobody's failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
