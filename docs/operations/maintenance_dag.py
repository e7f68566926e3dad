"""An Airflow DAG (Airflow 3): kafka-clientele's maintenance, each night.

Copy it into the folder of DAGs; it needs a checkout that is set up on the worker,
by `spark-submit.sh setup --with-checks`, and the password that `[kafka]` refers to.
"""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    dag_id="kafka_clientele_maintenance",
    description="Compaction, retention, VACUUM and checks of kafka-clientele's tables",
    # In UTC, as the dates of the tables are.
    schedule="30 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    # A second run would name the first one and end.
    max_active_runs=1,
    default_args={
        # A run that was cut off is run again.
        "retries": 2,
        "retry_delay": timedelta(minutes=15),
        "execution_timeout": timedelta(hours=20),
    },
    tags=["kafka-clientele"],
) as dag:
    maintain_tables = BashOperator(
        task_id="maintain_tables",
        bash_command=(
            "/opt/kafka-clientele/spark-submit.sh maintain_tables --env cluster"
        ),
    )
