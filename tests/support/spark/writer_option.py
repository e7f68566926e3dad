"""Which way of writing the tests of jobs take: `pytest --writer spark`."""

WRITERS = ("auto", "files", "spark")
_chosen = ["auto"]


def choose_writer(name):
    """Take what the command line says."""
    _chosen[0] = name


def writer_override():
    """Return it as a setting."""
    return f"tables.writer={_chosen[0]}"
