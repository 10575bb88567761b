"""The crawl API: what an operator does to the crawl, over HTTP."""
