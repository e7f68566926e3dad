"""Findings: rules of conf/findings.toml over what tables say of live clients."""
