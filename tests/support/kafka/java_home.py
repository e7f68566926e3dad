"""The Java that brokers of programs run on, as a user has it."""

import os
from pathlib import Path


def find_java():
    """Return JAVA_HOME's program, else the one on the path."""
    home = os.environ.get("JAVA_HOME", "")
    return str(Path(home) / "bin" / "java") if home else "java"
