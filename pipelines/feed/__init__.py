"""The cluster metadata export: what a cluster reports, as records of one topic."""
