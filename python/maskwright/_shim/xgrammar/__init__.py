"""``import xgrammar`` gives ``maskwright.compat.xgrammar`` where this directory is first on the path."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

_REAL = "maskwright.compat.xgrammar"


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules below ``xgrammar`` as those below the real package, so that each of them exists once."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("xgrammar."):
            return None
        real = _REAL + fullname.removeprefix("xgrammar")
        try:
            found = importlib.util.find_spec(real)
        except ModuleNotFoundError:
            return None
        return found and importlib.machinery.ModuleSpec(fullname, self, is_package=bool(found.submodule_search_locations))

    def create_module(self, spec):
        module = importlib.import_module(_REAL + spec.name.removeprefix("xgrammar"))
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        # It is loaded, under its own name.
        module.__spec__ = self._spec


sys.meta_path.insert(0, _Alias())
sys.modules[__name__] = importlib.import_module(_REAL)
