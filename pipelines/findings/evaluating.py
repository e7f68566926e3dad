"""Rules asked of clients: who is hit, who could not be judged, and the finding of each.

Strategy: rules over one client's row are asked all at once, in one pass over clients;
queries are asked one by one of the same rows, which are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.rule_coverage import SOFTWARE
from pipelines.settings.finding_rules import (
    IDENTITY_NAMES,
    FindingRule,
    split_template,
)

from .client_rows import keep_rows
from .rule_sql import (
    CLIENT,
    ENTITY,
    INSTANCES,
    LEVELS,
    SHOWN_TEXTS,
    RuleSql,
    make_rule_sql,
)

MOST_INSTANCES = 100
"""That a finding names."""
KEY = ("cluster_id", "logical_client", "rule")
_ABOUT = (
    *("client_type", "principal", "client_id", "group_id"),
    *("client_software_name", "client_software_version"),
)
_PLACE_OF = ("cluster_id", "logical_client", "group_id")
_IS_UNJUDGED = "is_unjudged"
_WHO = (CLIENT, "cluster_id", "logical_client", *_ABOUT, "last_push")
_TOLD = "level: INT, texts: MAP<STRING, STRING>, current: STRING, setting: STRING"
_HIT_TYPE = f"STRUCT<place: INT, {_TOLD}>"
_STATE_TYPE = "STRUCT<place: INT, lacks: STRING>"
_PARTS = "ARRAY<STRUCT<text: STRING, name: STRING>>"
_TEMPLATES = ("sentence", "setting", "current", "suggested", "why")
_RULES_TYPE = "place INT, rule STRING, source STRING, is_about_clients BOOLEAN, " + (
    ", ".join(f"{name}_parts {_PARTS}" for name in _TEMPLATES)
)
FORGIVING = {
    # What a division by zero and a text that is no number come to is a null: a rule
    # does not hold of it, and the others are asked.
    "spark.sql.ansi.enabled": "false",
    # With any other limit Spark adds up all columns of a batch after each row of it,
    # which of nested ones takes longer than what is asked; rows are few enough.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""Settings of a session in which rules are asked."""
_SEVERITIES = {level: name for name, level in LEVELS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What came of asking all rules."""

    findings: DataFrame
    """KEY, severity, _ABOUT, client_instance_ids, instances, evidence, sentence,
    setting, current_value, suggested_value, why, source; one row a KEY."""
    counts: DataFrame
    """rule, family, client_type, lacks ('': nothing, SOFTWARE: the rule is not for
    it), clients: how many clients a rule is about, by what kept it from being asked."""
    judged: DataFrame
    """_WHO, family, and states: of each rule that is about clients of the type what
    kept it from being asked, or nothing."""
    names: DataFrame
    """_RULES_TYPE."""

    def find_unjudged(self, findings: DataFrame) -> DataFrame:
        """Return KEY of those that nobody can judge any more.

        Args:
            findings: KEY, client_instance_ids and group_id; few beside all clients.
        Returns: KEY of findings about a client if the rule could be asked of none of
            its instances; about others, if it could not be asked of one of the
            instances that were named, or of no member of the group.
        """
        asked = findings.join(self.names, "rule").select(
            *KEY, "place", "is_about_clients", INSTANCES, "group_id"
        )
        states = self.judged.select(*_PLACE_OF, CLIENT, F.inline("states")).where(
            F.col("lacks") != SOFTWARE
        )
        is_unknown = F.col("lacks") != ""
        of_clients = (
            states.join(asked.where("is_about_clients"), [*_PLACE_OF[:2], "place"])
            .groupBy(*KEY)
            .agg(F.bool_and(is_unknown).alias(_IS_UNJUDGED))
        )
        others = asked.where("NOT is_about_clients")
        members = states.drop("logical_client")
        of_named = (
            members.drop("cluster_id", "group_id")
            .join(others.withColumn(CLIENT, F.explode(INSTANCES)), [CLIENT, "place"])
            .groupBy(*KEY)
            .agg(F.bool_or(is_unknown).alias(_IS_UNJUDGED))
        )
        of_groups = (
            members.join(others, ["cluster_id", "group_id", "place"])
            .groupBy(*KEY)
            .agg(F.bool_and(is_unknown).alias(_IS_UNJUDGED))
            .join(of_named, [*KEY], "left_anti")
        )
        found = of_clients.unionByName(of_named).unionByName(of_groups)
        return found.where(_IS_UNJUDGED).select(*KEY)


def ask_rules(
    spark: SparkSession,
    clients: DataFrame,
    rules: Sequence[FindingRule],
    times: Mapping[str, str],
) -> Evaluation:
    """Ask all rules.

    Args:
        clients: From client_rows.open_clients, with its views registered.
        times: Of the same span.
    Raises: InvalidSetting, naming file and rule.
    """
    made = check_rules(spark, rules, clients, times)
    numbered = list(enumerate(made))
    hits = [_hit_sql(place, one) for place, one in numbered if one.answer is None]
    states = [
        (one.is_meant, f"named_struct('place', {place}, 'lacks', {one.lacks})")
        for place, one in numbered
    ]
    judged = clients.select(
        *_WHO,
        "family",
        _gather(states, _STATE_TYPE, "states"),
        _gather(hits, _HIT_TYPE, "hits"),
    )
    kept = keep_rows(judged)
    found = [_sum_up(kept.select(*_WHO, F.inline("hits")))]
    # After each stage Spark plans the rest of a plan again, so each query is a plan.
    found += [
        keep_rows(_ask_query(clients, place, one, one.answer))
        for place, one in numbered
        if one.answer is not None
    ]
    names = _describe(spark, made)
    held = _without_consequences(reduce(DataFrame.unionByName, found), rules)
    return Evaluation(
        findings=_tell(held, names),
        counts=_count(kept, names),
        judged=kept,
        names=names,
    )


def check_rules(
    spark: SparkSession,
    rules: Sequence[FindingRule],
    clients: DataFrame,
    times: Mapping[str, str],
) -> list[RuleSql]:
    """Return the SQL of all rules.

    Raises: InvalidSetting, naming file and rule.
    """
    blank = spark.createDataFrame([], clients.schema)
    return [make_rule_sql(spark, rule, blank, times) for rule in rules]


def _gather(items: Sequence[tuple[str, str]], kind: str, name: str) -> Column:
    """Return an array of those that are to be in it.

    Args:
        items: Test and value. Without a lambda, around which Spark compiles nothing.
    """
    empty = f"CAST(array() AS ARRAY<{kind}>)"
    each = [
        f"IF({test}, CAST(array({value}) AS ARRAY<{kind}>), {empty})"
        for test, value in items
    ]
    return F.expr(f"flatten(array({', '.join([*each, empty])}))").alias(name)


def _hit_sql(place: int, one: RuleSql) -> tuple[str, str]:
    """Return SQL over a client's row: whether it is hit, and what is told then."""
    level = f"greatest(1, {one.level} - int({one.is_inferred}))"
    told = (
        f"named_struct('place', {place}, 'level', {level}, 'texts', {one.texts}, "
        f"'current', {one.current}, 'setting', {one.setting})"
    )
    return f"{one.is_meant} AND {one.lacks} = '' AND {one.where}", told


def _ask_query(
    clients: DataFrame, place: int, one: RuleSql, answer: DataFrame
) -> DataFrame:
    """Return the findings of a rule with a query, as _sum_up does."""
    rows = answer.where(one.where)
    if one.is_about_clients:
        return _sum_up(_ask_of_clients(clients, place, one, rows))
    return _ask_of_others(clients, place, one, rows)


def _ask_of_clients(
    clients: DataFrame, place: int, one: RuleSql, rows: DataFrame
) -> DataFrame:
    """Return _WHO, place and what is told of each client that a query has found."""
    told = rows.selectExpr(CLIENT, f"{one.level} AS level", f"{one.texts} AS texts")
    asked = clients.where(one.is_meant).where(f"{one.lacks} = ''")
    who = asked.selectExpr(
        *_WHO,
        f"{one.is_inferred} AS is_inferred",
        f"{one.current} AS current",
        f"{one.setting} AS setting",
    )
    return who.join(told, CLIENT).selectExpr(
        *_WHO,
        f"{place} AS place",
        "greatest(1, level - int(is_inferred)) AS level",
        *("texts", "current", "setting"),
    )


def _ask_of_others(
    clients: DataFrame, place: int, one: RuleSql, rows: DataFrame
) -> DataFrame:
    """Return what a query has found that is about no one client, as _sum_up does.

    A finding is a step less severe if what decides was inferred of one of its clients.
    """
    own = [name for name in ("cluster_id", *_ABOUT) if name in rows.columns]
    told = rows.selectExpr(
        f"{ENTITY} AS logical_client",
        f"{INSTANCES} AS ids",
        *(f"{name} AS own_{name}" for name in own),
        f"{one.level} AS level",
        f"{one.texts} AS texts",
    )
    live = clients.selectExpr(
        CLIENT, "cluster_id", *_ABOUT, "last_push", f"{one.is_inferred} AS is_inferred"
    )
    named = told.select("*", F.explode_outer("ids").alias(CLIENT)).join(
        live, CLIENT, "left"
    )

    def agreed(name: str) -> Column:
        same = F.when(F.count_distinct(name) == 1, F.max(name))
        return F.coalesce(F.max(f"own_{name}"), same) if name in own else same

    place_of = [f"own_{name}" for name in own if name == "cluster_id"]
    return (
        named.groupBy("logical_client", *place_of)
        .agg(
            F.coalesce(agreed("cluster_id"), F.lit("")).alias("cluster_id"),
            F.lit(place).alias("place"),
            *(agreed(name).alias(name) for name in _ABOUT),
            F.max_by(F.struct("level", "texts"), "level").alias("told"),
            F.coalesce(F.bool_or("is_inferred"), F.lit(False)).alias("is_inferred"),
            *_name_instances(),
        )
        .select(
            "*",
            F.expr("greatest(1, told.level - int(is_inferred))").alias("level"),
            "told.texts",
            F.lit(None).cast("string").alias("current"),
            F.lit(one.rule.setting).alias("setting"),
        )
        .drop("told", "is_inferred", *place_of)
    )


def _without_consequences(found: DataFrame, rules: Sequence[FindingRule]) -> DataFrame:
    """Leave out findings of which another one of the same subject is the cause."""
    places = {rule.name: place for place, rule in enumerate(rules)}
    pairs = [
        (place, places[cause])
        for place, rule in enumerate(rules)
        for cause in rule.unless_found
        if cause in places
    ]
    if not pairs:
        return found
    kept = keep_rows(found)
    known = kept.sparkSession.createDataFrame(pairs, "consequence INT, place INT")
    causes = kept.join(F.broadcast(known), "place").select(
        *_PLACE_OF[:2], F.col("consequence").alias("place")
    )
    return kept.join(causes, [*_PLACE_OF[:2], "place"], "left_anti")


def _sum_up(hits: DataFrame) -> DataFrame:
    """Return one row a logical client and rule, with what its worst instance shows."""
    worst = F.max_by(
        F.struct(*_ABOUT, "level", "texts", "current", "setting"),
        F.struct("level", "last_push", CLIENT),
    ).alias("worst")
    return (
        hits.groupBy("cluster_id", "logical_client", "place")
        .agg(worst, *_name_instances())
        .select("*", "worst.*")
        .drop("worst")
    )


def _name_instances() -> tuple[Column, Column]:
    """Return aggregates: instances, and the ids of the newest of them."""
    ids = F.collect_list(
        F.when(F.col(CLIENT).isNotNull(), F.struct("last_push", CLIENT))
    )
    newest = F.slice(F.sort_array(ids, asc=False), 1, MOST_INSTANCES)
    return (
        F.count(CLIENT).cast("int").alias("instances"),
        newest[CLIENT].alias(INSTANCES),
    )


def _describe(spark: SparkSession, rules: Sequence[RuleSql]) -> DataFrame:
    """Return what is the same in each finding of a rule; _RULES_TYPE."""
    rows = [
        (
            place,
            one.rule.name,
            one.rule.source,
            one.is_about_clients,
            *(split_template(getattr(one.rule, name)) for name in _TEMPLATES),
        )
        for place, one in enumerate(rules)
    ]
    return F.broadcast(spark.createDataFrame(rows, _RULES_TYPE))


def _tell(found: DataFrame, names: DataFrame) -> DataFrame:
    """Return findings in words."""
    known = {
        "client_id": F.coalesce("client_id", F.lit("(no client.id)")),
        "software": F.col("client_software_name"),
        "version": F.col("client_software_version"),
        "instances": F.col("instances").cast("string"),
    }
    pairs = (
        pair
        for name in IDENTITY_NAMES
        for pair in (F.lit(name), known.get(name, F.col(name)))
    )
    levels = (F.lit(one) for pair in _SEVERITIES.items() for one in pair)
    shown = found.withColumn("texts", F.expr(SHOWN_TEXTS))
    words = shown.join(names, "place").withColumn(
        "words", F.map_concat(F.create_map(*pairs), "texts")
    )
    # A name with a leading _ is for sentences alone.
    is_evidence = "(name, text) -> text <> '' AND NOT startswith(name, '_')"
    return words.select(
        *KEY,
        F.create_map(*levels)[F.col("level")].alias("severity"),
        *_ABOUT,
        INSTANCES,
        "instances",
        F.expr(f"map_filter(texts, {is_evidence})").alias("evidence"),
        _render("sentence").alias("sentence"),
        _named_setting().alias("setting"),
        F.coalesce(_filled("current"), "current").alias("current_value"),
        _filled("suggested").alias("suggested_value"),
        _render("why").alias("why"),
        "source",
    )


def _render(template: str) -> Column:
    """Return a template with words in the places of names."""
    return F.expr(
        f"array_join(transform({template}_parts, part -> concat(part.text, "
        "IF(part.name = '', '', coalesce(words[part.name], 'unknown')))), '')"
    )


def _named_setting() -> Column:
    """Return the setting that evidence names, else the one of the rule."""
    is_evidence = F.size("setting_parts") > 1
    named = F.when(is_evidence, _render("setting")).otherwise(F.col("setting"))
    return F.when(named != "", named)


def _filled(template: str) -> Column:
    text = _render(template)
    return F.when(text != "", text)


def _count(judged: DataFrame, names: DataFrame) -> DataFrame:
    """Return rule, family, client_type, lacks and clients."""
    each = judged.select("family", "client_type", F.inline("states"))
    kinds = ("family", "client_type", "lacks")
    counted = each.groupBy("place", *kinds).agg(F.count("*").alias("clients"))
    return counted.join(names, "place").select("rule", *kinds, "clients")
