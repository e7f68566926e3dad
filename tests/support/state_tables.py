"""Questions about a table of transitions: (state, event) to state."""


def reach(table, start):
    """Return the states that may follow, the first among them."""
    found, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        for (source, _), target in table.items():
            if source is state and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def find_dead_ends(table):
    """Return the states that nothing leads out of."""
    return {
        target
        for target in table.values()
        if all(to is target for (source, _), to in table.items() if source is target)
    }


def find_unused(table, events):
    """Return the events that never happen."""
    return set(events) - {event for _, event in table}
