"""One connection to Kafka: what is said on it, and two ways to say it.

The client library has this folder by a link, so it needs the standard library only and
imports itself by relative names.
"""
