"""Mutations of OTLP messages that know protobuf's structure, and blind ones."""

from tests.fuzz.otlp_field_mutations import NUMBERS, OPERATIONS
from tests.fuzz.otlp_trees import VARINT, write_tree
from tests.unit.udfs.otlp.random_pushes import mutant


def merge_other(rng, node, others):
    """Put a field of another message of any type beside this one, or into it."""
    other = rng.choice(others)
    for _ in range(rng.randrange(8)):
        inner = [c for _, _, c in other if isinstance(c, tuple) and c]
        if not inner:
            break
        other = rng.choice(inner)
    if not other:
        return [node]
    number, wire, content = node
    if isinstance(content, tuple) and rng.random() < 0.5:
        return [(number, wire, content + other)]
    return [node, rng.choice(other)]


def mutate_nodes(rng, nodes, others):
    """Return the fields of a message with a mutation somewhere in them."""
    inner = [i for i, node in enumerate(nodes) if isinstance(node[2], tuple)]
    if inner and rng.random() < 0.85:
        at = rng.choice(inner)
        number, wire, content = nodes[at]
        mutated = (number, wire, mutate_nodes(rng, content, others))
        return (*nodes[:at], mutated, *nodes[at + 1 :])
    if not nodes:
        return ((rng.choice(NUMBERS[1:]), VARINT, 1),)
    choice = rng.random()
    if choice < 0.1:
        return tuple(rng.sample(nodes, len(nodes)))
    at = rng.randrange(len(nodes))
    if choice < 0.15:
        rest = [*nodes[:at], *nodes[at + 1 :]]
        rest.insert(rng.randrange(len(rest) + 1), nodes[at])
        return tuple(rest)
    if choice < 0.29:
        times = rng.choice((0, 2))
        changed = [nodes[at]] * times
    elif choice < 0.36:
        changed = merge_other(rng, nodes[at], others)
    else:
        changed = rng.choice(OPERATIONS)(rng, nodes[at])
    return (*nodes[:at], *changed, *nodes[at + 1 :])


def mutated_push(rng, trees, payloads, written):
    """Return the bytes of a mutant of one of the trees, or of one of the payloads."""
    if rng.random() < 0.2:
        return mutant(rng, rng.choice(payloads), payloads)
    nodes = rng.choice(trees)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        nodes = mutate_nodes(rng, nodes, trees)
    payload = write_tree(nodes, written)
    choice = rng.random()
    if choice < 0.06:
        return payload[: rng.randrange(len(payload) + 1)]
    if choice < 0.1:
        return payload + rng.choice(payloads)
    if choice < 0.15:
        return mutant(rng, payload, payloads)
    return payload
