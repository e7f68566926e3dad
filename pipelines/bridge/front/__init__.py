"""Sockets: listeners, admission, connections and their turns."""
