import pytest

from pipelines.bridge.front.listening import bind_listener
from pipelines.errors import MissingService


def test_taken_port_is_named_with_its_setting():
    with bind_listener("127.0.0.1", 0) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(
            MissingService, match=rf"127\.0\.0\.1:{port} .*bridge\.listen_port"
        ):
            bind_listener("127.0.0.1", port)


def test_address_of_another_machine_is_named_with_its_setting():
    with pytest.raises(MissingService, match=r"192\.0\.2\.1:0 .*bridge\.listen_host"):
        bind_listener("192.0.2.1", 0)
