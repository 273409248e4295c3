"""Adds several options to a command. Help shows the options in the order of the arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from inspect import signature
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def stacked(*options: Decorator) -> Decorator:
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def grouped(name: str, build: Callable[..., object], *options: Decorator) -> Decorator:
    """A decorator that adds these options to a command, which gets the result of `build` as the argument `name`.

    The parameters of `build` are click's names of the options.
    """
    taken = tuple(signature(build).parameters)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_value(*arguments: Any, **values: Any) -> Any:
            own = {each: values.pop(each) for each in taken if each in values}
            return command(*arguments, **{name: build(**own)}, **values)

        return stacked(*options)(with_value)

    return decorate
