from udfs.dynamic_configs import ResolvedValue, resolve_configs

USER = (("user", "alice"),)
SET = {
    USER: {"acks": "all", "session.timeout.ms": "1", "k": "u"},
    (*USER, ("client-id", None)): {"acks": "1", "session.timeout.ms": "2"},
    (*USER, ("client-id", "app")): {"acks": "0"},
    (*USER, ("client-id", "")): {"acks": "never"},
}


def resolve(user, client_id):
    return resolve_configs(user, client_id, lambda entity: SET.get(entity, {}))


def test_the_nearer_entity_stands_over_the_wider():
    assert resolve("alice", "app") == {
        "acks": ResolvedValue("0", "dynamic_client"),
        "k": ResolvedValue("u", "dynamic_user"),
        "session.timeout.ms": ResolvedValue("2", "dynamic_default_client"),
    }
    assert list(resolve("alice", "app")) == ["acks", "k", "session.timeout.ms"]


def test_a_client_without_its_own_or_without_a_client_id_has_the_defaults():
    expected = ResolvedValue("1", "dynamic_default_client")
    for client_id in ("other", "", None):
        assert resolve("alice", client_id)["acks"] == expected


def test_another_user_has_nothing():
    assert resolve("bob", "app") == {}
