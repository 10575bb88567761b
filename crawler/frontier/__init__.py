"""The frontier: every known URL with its state, buckets of origins, leases with fences, suppressions; all in SQL."""
