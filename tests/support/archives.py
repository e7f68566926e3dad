"""Archives that are opened with any Python that the product runs on."""

import tarfile


def unpack_tar(archive, folder):
    """Unpack a tar file that this project has made.

    Pythons before 3.11.4 know no `filter`, and some that do warn where none is named.
    """
    with tarfile.open(archive) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)  # noqa: S202 - made by this project
