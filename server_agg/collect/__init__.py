"""The collector: a small service that can be trusted with acknowledged reports (extra `server`).

Read in this order.  `store`: `reports` (what is kept), `database` and its two kinds `sqlite` and `postgres`, `keys` and
`epochs` (how waiting reports are sealed), `taking`, `fold`, `release_rule` and `release` (what strangers see),
`store` (all of it).  Then `catalogue` (published surveys), `admission` (which reports are taken), `group_commit` (many
requests, one durable commit), `keeping` (lines in, files out), `housekeeping`, `settings` (and the owner's token).
`http`: `bodies` and `headers` (how much may be sent, and by whom), `intake` (POST /reports), `surveys`, `findings`
(results), `pages` (what people and programs read), `app`.  Last `serve`.

Names are loaded when first used.
"""

from rrcollect.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
