"""How tool calls are asked of a model, and what is remembered of it from one connection to the next."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias


class Road(StrEnum):
    """How tool calls are asked of a model."""

    NATIVE = "native"
    SCHEMA = "schema"  # each step's reply is constrained by a JSON schema


RoadKey: TypeAlias = tuple[str, str]  # the server's URL, the model's name


@dataclass(frozen=True, slots=True)
class Learned:
    """Why a model is asked by a schema. `identity` is what the server said that the model is (empty: it does not say).
    `since` is in UTC."""

    identity: str
    why: str
    since: datetime


class RoadMemory(Protocol):
    """Which models took the schema road, kept on disk for the person. Never raises."""

    async def recall(self, key: RoadKey) -> Learned | None: ...

    async def keep(self, key: RoadKey, learned: Learned) -> None: ...

    async def forget(self, key: RoadKey) -> None: ...


class NoMemory:
    """Nothing is remembered."""

    async def recall(self, key: RoadKey) -> Learned | None:  # noqa: ARG002
        return None

    async def keep(self, key: RoadKey, learned: Learned) -> None:
        pass

    async def forget(self, key: RoadKey) -> None:
        pass
