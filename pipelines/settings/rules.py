"""The rules of conf/, ready to judge: for sensitive keys, and for findings."""

import dataclasses

from pipelines.errors import InvalidSetting
from udfs.cluster.broker_catalog import BrokerCatalog
from udfs.cluster.published_records import PublishedRules
from udfs.sensitive.sensitive_key_rules import InvalidRule, SensitiveKeyRule
from udfs.sensitive.sensitive_keys import SensitiveKeyRules, compile_rules

from .client_config_settings import SensitiveKeySettings
from .config_catalogs import Catalogs, catalogs_by_software
from .finding_rules import FindingRules, load_finding_rules
from .loading import load_config_catalogs
from .records import Settings


def make_sensitive_key_rules(
    settings: SensitiveKeySettings, catalogs: Catalogs
) -> SensitiveKeyRules:
    """Compile the rules of settings over the catalogs of conf/.

    Raises: InvalidSetting, naming the rule.
    """
    return _compile(_read_rules(settings), settings, catalogs)


def list_software(settings: SensitiveKeySettings) -> tuple[str, ...]:
    """Return the names of clients whose keys catalogs have."""
    known = settings.software
    return tuple(name for one in known if one.catalogs for name in one.names)


def read_finding_rules(settings: Settings) -> FindingRules:
    """Load the rules of findings, the site's own among them.

    Raises: InvalidSetting, naming file and rule.
    """
    keys = settings.sensitive_keys
    return load_finding_rules(
        settings.findings.rules_location,
        make_sensitive_key_rules(keys, load_config_catalogs()),
        list_software(keys),
    )


def make_published_rules(
    settings: SensitiveKeySettings, catalogs: Catalogs, broker_catalog: BrokerCatalog
) -> PublishedRules:
    """Compile what hides the configs of a cluster before they are published.

    Args:
        catalogs: From load_config_catalogs.
        broker_catalog: From load_broker_configs.
    Raises: InvalidSetting, naming the rule.
    """
    rules = _read_rules(settings)
    known = [one for one in rules if not one.is_custom]
    return PublishedRules(
        configs=_compile(rules, settings, catalogs),
        reported=_compile(known, settings, catalogs),
        catalog=broker_catalog,
    )


def _read_rules(settings: SensitiveKeySettings) -> list[SensitiveKeyRule]:
    return [SensitiveKeyRule(**dataclasses.asdict(one)) for one in settings.rules]


def _compile(
    rules: list[SensitiveKeyRule], settings: SensitiveKeySettings, catalogs: Catalogs
) -> SensitiveKeyRules:
    known = catalogs_by_software(settings.software, settings.shared_catalogs, catalogs)
    try:
        return compile_rules(rules, known)
    except InvalidRule as error:
        raise InvalidSetting(f"conf/sensitive_keys.toml: {error}") from None
