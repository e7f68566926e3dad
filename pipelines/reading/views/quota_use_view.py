"""`quota_use` and `client_quota_use`: how much of each limit its clients use."""

from pipelines.reading.quota_use import CLIENT_QUOTA_USE_SQL, QUOTA_USE_SQL

from .view import View

QUOTA_USE = "quota_use"
CLIENT_QUOTA_USE = "client_quota_use"

QUOTA_USE_VIEW = View(
    name=QUOTA_USE,
    row="A cluster, quota key and quota-id, with `use`: the part of the limit that its "
    "clients use together. `basis` is `proxy` (`used_rate` is the rate at the busiest "
    "broker, as the proxy counted it lately) or `reported` (estimated: `used_rate` is "
    "the sum of the clients' reported rates, `use` divides it by `limit` times "
    "`live_brokers`). A client without a quota-id has a row of its own. `shared_by` "
    "counts active instances, `clients` all observed clients.",
    sql=QUOTA_USE_SQL,
    needs=("effective_quotas",),
    made_by="refresh_quotas",
)
CLIENT_QUOTA_USE_VIEW = View(
    name=CLIENT_QUOTA_USE,
    row="A client (cluster, principal, client ID) and quota key, with the columns of "
    "its row in `quota_use`, its own `reported_rate`, and the `reason` for the limit.",
    sql=CLIENT_QUOTA_USE_SQL,
    needs=("effective_quotas", QUOTA_USE),
    made_by="refresh_quotas",
)
QUOTA_USE_VIEWS = (QUOTA_USE_VIEW, CLIENT_QUOTA_USE_VIEW)
