"""The collector: a small service that can be trusted with acknowledged reports (extra `server`).

Read in this order: `row` (what is kept), `store` and its two kinds `sqlite_store` and `postgres_store`, `group_commit`
(many requests, one durable commit), `catalogue` (published surveys), `admission` (which reports are taken), `owner` and
`bodies` (who may ask, and how much may be sent), `intake` (POST /reports), `findings` and `spreadsheet` (results),
`pages` and `openapi` (what people and programs read), `guard` (headers and origins), `app` and `serve` (all together).
"""
