"""Copies of a controller: like copy.deepcopy, but what cannot change is shared, which makes it many times faster."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from itertools import count
from types import MethodType
from typing import Any, TypeVar

from reconciler.jobs.batch_job import BatchJob
from reconciler.jobs.composed import RequestCache
from reconciler.jobs.step import JobInputs

T = TypeVar("T")
Memo = dict[int, Any]
_SHARED = (str, int, float, bytes, type(None), type, Enum, BatchJob, RequestCache)
"""RequestCache remembers what follows from a version of a job, whoever asks."""


def forked(value: T, memo: Memo) -> T:
    """`memo` has what was copied so far, by the id of the original."""
    how = _HOW.get(type(value))
    if how is None:
        how = _HOW[type(value)] = _how(value)
    if how is _same:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known  # type: ignore[no-any-return]
    return how(value, memo)  # type: ignore[no-any-return]


def _how(value: object) -> Callable[[Any, Memo], Any]:
    cls: type[Any] = type(value)
    frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    named = issubclass(cls, tuple) and cls is not tuple
    if issubclass(cls, dict):
        return _dict
    if issubclass(cls, set):
        return lambda each, memo: _known(each, {forked(item, memo) for item in each}, memo)
    if issubclass(cls, list):
        return lambda each, memo: _known(each, [forked(item, memo) for item in each], memo)
    if cls is tuple:
        return _tuple
    if cls is count:
        return lambda each, memo: _known(each, copy.copy(each), memo)
    if cls is MethodType:
        return lambda each, memo: MethodType(each.__func__, forked(each.__self__, memo))
    if (
        issubclass(cls, _SHARED)
        or named
        or (frozen and cls is not JobInputs)
        or not (_slots(cls) or getattr(value, "__dict__", ()))
    ):
        return _same
    return _object


def _same(value: Any, memo: Memo) -> Any:
    del memo
    return value


def _known(value: object, made: T, memo: Memo) -> T:
    memo[id(value)] = made
    return made


def _dict(value: dict[Any, Any], memo: Memo) -> dict[Any, Any]:
    made = memo[id(value)] = type(value)()
    for key, each in value.items():
        made[forked(key, memo)] = each if _HOW.get(type(each)) is _same else forked(each, memo)
    return made


def _tuple(value: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    for each in value:
        if _HOW.get(type(each)) is not _same and forked(each, memo) is not each:
            return tuple([forked(each, memo) for each in value])
    return value


@cache
def _slots(cls: type) -> tuple[str, ...]:
    return tuple(name for each in cls.__mro__ for name in getattr(each, "__slots__", ()))


def _object(value: Any, memo: Memo) -> Any:
    made = memo[id(value)] = object.__new__(type(value))
    for name in _slots(type(value)):
        object.__setattr__(made, name, forked(getattr(value, name), memo))
    if inside := getattr(value, "__dict__", None):
        state = made.__dict__
        for name, each in inside.items():
            state[name] = each if _HOW.get(type(each)) is _same else forked(each, memo)
    return made


_HOW: dict[type, Callable[[Any, Memo], Any]] = {}
