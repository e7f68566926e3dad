"""The rules for sensitive keys as conf/ states them, ready to judge."""

import dataclasses

from pipelines.errors import InvalidSetting
from udfs.sensitive.sensitive_key_rules import InvalidRule, SensitiveKeyRule
from udfs.sensitive.sensitive_keys import SensitiveKeyRules, compile_rules

from .client_config_settings import SensitiveKeySettings
from .config_catalogs import Catalogs, catalogs_by_software


def make_sensitive_key_rules(
    settings: SensitiveKeySettings, catalogs: Catalogs
) -> SensitiveKeyRules:
    """Compile the rules of settings over the catalogs of conf/config_catalog/.

    Raises: InvalidSetting, naming the rule.
    """
    rules = [SensitiveKeyRule(**dataclasses.asdict(one)) for one in settings.rules]
    known = catalogs_by_software(settings.software, catalogs)
    try:
        return compile_rules(rules, known)
    except InvalidRule as error:
        raise InvalidSetting(f"conf/sensitive_keys.toml: {error}") from None
