"""The handlers of a whole bridge, with a Kafka and a clock of the test."""


def wire_handlers(server, node, publish, now_ms=None):
    """Return the handlers of all parts of a server that is never started.

    Args:
        node: What clients are told about the bridge.
        publish: Takes each record, and a function for the answer.
        now_ms: Returns the time; None for the real one.
    """
    server.outlet.publish = publish
    server.outlet.now_ms = now_ms or server.outlet.now_ms
    server.front.nodes = {one.name: node for one in server.front.listeners}
    return server.make_handlers()
