"""The only producer of the bridge, and its topics."""
