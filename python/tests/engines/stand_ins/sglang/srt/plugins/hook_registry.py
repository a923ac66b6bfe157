"""Hooks of plug-ins."""

import functools
import pkgutil
from enum import Enum


class HookType(Enum):
    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"
    REPLACE = "replace"


class HookRegistry:
    _hooks = []

    @classmethod
    def register(cls, target, hook, hook_type=HookType.AFTER, *, source=None):
        cls._hooks.append((target, hook))

    @classmethod
    def apply_hooks(cls):
        for target, hook in cls._hooks:
            path, name = target.rsplit(".", 1)
            module = pkgutil.resolve_name(path)
            setattr(module, name, functools.partial(hook, getattr(module, name)))
        cls._hooks = []
