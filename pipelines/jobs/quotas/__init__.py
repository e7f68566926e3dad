"""refresh_quotas: what the quotas of a cluster mean for the clients that were seen."""
