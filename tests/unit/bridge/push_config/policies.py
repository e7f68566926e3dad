"""Policies as an operator might write them, for tests; loaded by name."""

import threading

from pipelines.bridge.push_config.policy.contract import (
    InvalidPolicySetting,
    PolicyViolation,
)


class Recording:
    """Keeps what it is given, refuses a push of the client id `refused`."""

    seen = None

    def __init__(self):
        self.calls = []
        self.is_closed = False

    def configure(self, settings):
        self.settings = settings
        type(self).seen = self

    def process(self, context, client_config_data):
        self.calls.append((context, client_config_data))
        if context.client_id == "refused":
            raise PolicyViolation("not on Sundays")

    def close(self):
        self.is_closed = True


class Blocking(Recording):
    """Blocks until the test lets it go."""

    def __init__(self):
        super().__init__()
        self.may_go = threading.Event()

    def process(self, context, client_config_data):
        self.may_go.wait(20)
        super().process(context, client_config_data)


class Failing(Recording):
    """Raises with a value of the client in its text."""

    def process(self, context, client_config_data):
        super().process(context, client_config_data)
        raise KeyError(client_config_data.configs[0].value)

    def close(self):
        raise OSError("canary")


class Leaving(Recording):
    """Tries to end the process."""

    def process(self, context, client_config_data):
        super().process(context, client_config_data)
        raise SystemExit(3)


class BadText(Recording):
    """Refuses with a text that is no UTF-8, or with one that cannot be made."""

    def process(self, context, _client_config_data):
        if context.client_id == "surrogate":
            raise PolicyViolation("a\ud800b" + "x" * 5_000)
        raise Untellable


class Untellable(PolicyViolation):
    def __str__(self):
        raise ValueError("canary")


class Picky(Recording):
    def configure(self, _settings):
        raise InvalidPolicySetting("colour: must be blue")


class Leaky(Recording):
    def configure(self, settings):
        raise ValueError(settings["token"])


class NeedsArguments(Recording):
    def __init__(self, more):
        super().__init__()
        self.more = more


class Incomplete:
    def configure(self, settings):
        pass
