"""The collector: a small service that can be trusted with acknowledged reports (extra `server`).

Read in this order: `stored_report` (what is kept), `store` and its two kinds `sqlite_store` and `postgres_store`,
`group_commit` (many requests, one durable commit), `catalogue` (published surveys), `admission` (which reports are
taken), `owner` and `request_body` (who may ask, and how much may be sent), `intake` (POST /reports), `spreadsheet`
(results as CSV), `release` and `releasing` (what strangers see), `pages` and `openapi` (what people and programs read),
`security_headers` (headers and origins), `app` and `serve` (all together).
"""
