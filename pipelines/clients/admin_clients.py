"""An admin client that pushes its configuration; otherwise that of confluent_kafka."""

from typing import Any

from confluent_kafka import admin

from .key_lists import ADMIN
from .pushing import PushesConfig
from .starting import prepare


class AdminClient(PushesConfig, admin.AdminClient):
    """An admin client that pushes its configuration before it is made."""

    def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:  # noqa: ANN401 - as upstream
        prepared = prepare(ADMIN, conf, **kwargs)
        self._begin(prepared)
        super().__init__(prepared.conf)
