"""A Hadoop file system in memory that, as HDFS, renames onto no file that there is."""

import io
from types import SimpleNamespace


class Output(io.BytesIO):
    """A file that is there as a whole when it is closed."""

    def __init__(self, files, path):
        super().__init__()
        self._files, self._path = files, path

    def close(self):
        self._files[self._path] = self.getvalue()
        super().close()


class HadoopStub:
    """What starts needs of org.apache.hadoop.fs.FileSystem."""

    def __init__(self):
        self.files = {}

    def open_path(self, _spark, path):
        return self, SimpleNamespace(name=path, toString=lambda: path)

    def exists(self, path):
        return any(self._is_below(one, path.name) for one in self.files)

    def create(self, path, overwrites):
        assert overwrites or path.name not in self.files
        return Output(self.files, path.name)

    def open(self, path):
        stream = io.BytesIO(self.files[path.name])
        return SimpleNamespace(readAllBytes=stream.read, close=stream.close)

    def listStatus(self, folder):  # noqa: N802 - as in Java
        paths = [
            SimpleNamespace(name=one, getName=lambda one=one: one.rpartition("/")[2])
            for one in self.files
            if one.startswith(f"{folder.name}/")
        ]
        return [SimpleNamespace(getPath=lambda path=path: path) for path in paths]

    def delete(self, path, _recursive):
        del self.files[path.name]

    def rename(self, old, new):
        if new.name in self.files:
            return False
        for path in [one for one in self.files if self._is_below(one, old.name)]:
            self.files[new.name + path.removeprefix(old.name)] = self.files.pop(path)
        return True

    @staticmethod
    def _is_below(path, folder):
        return f"{path}/".startswith(f"{folder}/")
