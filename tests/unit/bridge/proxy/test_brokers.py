from pipelines.bridge.proxy.rules.brokers import Brokers


def make_brokers():
    opened = []

    def open_port(node_id):
        opened.append(node_id)
        return 9292 + node_id

    return Brokers("proxy", open_port, lambda node_id: 9292 + node_id), opened


def test_a_broker_is_listened_for_when_it_is_first_heard_of():
    brokers, opened = make_brokers()
    assert brokers.find_address(1, "one", 9092) == ("proxy", 9293)
    assert brokers.find_address(1, "one", 9092) == ("proxy", 9293)
    assert opened == [1]


def test_a_broker_that_moves_keeps_its_port():
    brokers, opened = make_brokers()
    brokers.find_address(1, "one", 9092)
    assert brokers.find_address(1, "two", 9093) == ("proxy", 9293)
    assert brokers.known[1].address == ("two", 9093)
    assert opened == [1]


def test_find_address_fenced_broker_gets_its_port_named_and_not_opened():
    brokers, opened = make_brokers()
    assert brokers.find_address(1, "one", 9092, is_fenced=True) == ("proxy", 9293)
    assert opened == []
    assert not brokers.known
    brokers.find_address(1, "one", 9092)
    assert opened == [1]
    assert brokers.find_address(1, "one", 9092, is_fenced=True) == ("proxy", 9293)


def test_brokers_come_go_and_come_back():
    brokers, opened = make_brokers()
    assert brokers.update([(1, ("one", 9092)), (2, ("two", 9092))]) == []
    assert brokers.update([(1, ("one", 9092))]) == [2]
    assert list(brokers.known) == [1]
    assert brokers.update([(1, ("one", 9092)), (2, ("two", 9092))]) == []
    assert opened == [1, 2, 2]
