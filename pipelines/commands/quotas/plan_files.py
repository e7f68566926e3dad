"""Files that say which quotas there are to be: a list of entities, in YAML."""

import math
from pathlib import Path

import yaml

from pipelines.errors import PipelineError
from udfs.quotas import Alteration, parse_entity_path

from .questions import check_alterations


class InvalidPlan(PipelineError):
    """Raised when a file of quotas cannot be read, or Kafka would refuse one."""

    exit_code = 2


def read_plan(path: str, *, is_judged: bool = True) -> tuple[Alteration, ...]:
    """Read a file of quotas.

    Args:
        path: YAML, a list of `{entity_path: …, quotas: {KEY: VALUE}}`.
        is_judged: Whether what Kafka would refuse makes the file unusable.
    Raises: InvalidPlan.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidPlan(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise InvalidPlan(f"{path} is no YAML{where}") from None
    try:
        found = _read_entities([] if content is None else content)
        return check_alterations(found, is_judged=is_judged)
    except ValueError as error:
        raise InvalidPlan(f"{path}: {error}") from None


def _read_entities(content: object) -> list[Alteration]:
    if not isinstance(content, list):
        raise ValueError("it is no list of entities")  # noqa: TRY004 - data, not types
    found: list[Alteration] = []
    for number, one in enumerate(content, 1):
        if not isinstance(one, dict) or one.keys() != {"entity_path", "quotas"}:
            raise ValueError(f"entity {number} has not entity_path and quotas alone")
        entity = parse_entity_path(str(one["entity_path"]))
        quotas = one["quotas"]
        if not isinstance(quotas, dict):
            raise ValueError(f"{entity.path}: quotas are no mapping of key to value")  # noqa: TRY004 - the same
        for key, value in quotas.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or math.isnan(value):
                raise ValueError(f"{entity.path}: {key} is no number")
            found.append(
                Alteration(entity=entity, quota_key=str(key), quota_value=float(value))
            )
    return found
