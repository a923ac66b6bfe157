"""Tools and the choice among them, in the shapes of OpenAI's chat completions."""

from typing import Any, Literal

from pydantic import BaseModel


class FunctionDefinition(BaseModel):
    """A function: its name and the schema of its arguments."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionToolParam(BaseModel):
    """A tool that is a function."""

    type: Literal["function"] = "function"
    function: FunctionDefinition


class BuiltinToolParam(BaseModel):
    """A tool of the server; in outputs it is called by its name, or by its type where it has none."""

    type: str
    name: str | None = None
    parameters: dict[str, Any] | None = None


class NamedToolChoiceFunction(BaseModel):
    """The name of a function."""

    name: str


class NamedToolChoiceParam(BaseModel):
    """The choice of one function."""

    type: Literal["function"] = "function"
    function: NamedToolChoiceFunction


class BuiltinToolChoiceParam(BaseModel):
    """The choice of one tool of the server, by its type."""

    type: str
    name: str | None = None


class AllowedToolRef(BaseModel):
    """One of the tools that may be called."""

    type: str
    function: NamedToolChoiceFunction | None = None
    name: str | None = None


class AllowedToolsParam(BaseModel):
    """Tools that may be called, and whether one has to be."""

    mode: Literal["auto", "required"]
    tools: list[AllowedToolRef]


class AllowedToolChoiceParam(BaseModel):
    """The choice of some tools."""

    type: Literal["allowed_tools"] = "allowed_tools"
    allowed_tools: AllowedToolsParam


ToolParam = FunctionToolParam | BuiltinToolParam
SimplifiedToolChoice = Literal["auto", "required", "forced"]
