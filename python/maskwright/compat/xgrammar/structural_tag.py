"""Structural tags as Pydantic models. What they mean is written down with ``maskwright.GrammarCompiler.compile_structural_tag``."""

from __future__ import annotations

import json
import logging
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

logger = logging.getLogger(__name__)

_Schema = bool | dict[str, Any]
_Token = int | str
_Budget = Annotated[int | None, Field(ge=0, le=2**31 - 1)]


class ConstStringFormat(BaseModel):
    """This text."""

    type: Literal["const_string"] = "const_string"
    value: str


class JSONSchemaFormat(BaseModel):
    """A JSON document that a schema accepts, or parameters in the style of some XML."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: _Schema
    style: Literal[
        "json",
        "qwen_xml",
        "minimax_xml",
        "minimax_m3_xml",
        "deepseek_xml",
        "deepseek_v4_1_xml",
        "glm_xml",
        "cohere_xml",
        "kimi_k3_xml",
    ] = "json"
    any_order: bool = False
    max_whitespace_cnt: int | None = None
    excludes: list[str] = []


class AnyTextFormat(BaseModel):
    """Any text in which some texts don't occur."""

    type: Literal["any_text"] = "any_text"
    excludes: list[str] = []
    max_tokens: _Budget = None
    max_chars: _Budget = None


class TokenFormat(BaseModel):
    """One token, by its id or its spelling."""

    type: Literal["token"] = "token"
    token: _Token


class ExcludeTokenFormat(BaseModel):
    """Any token but some."""

    type: Literal["exclude_token"] = "exclude_token"
    exclude_tokens: list[_Token] = []


class AnyTokensFormat(BaseModel):
    """Any number of tokens, but for some."""

    type: Literal["any_tokens"] = "any_tokens"
    exclude_tokens: list[_Token] = []
    max_tokens: _Budget = None


class GrammarFormat(BaseModel):
    """What an EBNF grammar matches."""

    type: Literal["grammar"] = "grammar"
    grammar: str


class RegexFormat(BaseModel):
    """What a regular expression matches as a whole."""

    type: Literal["regex"] = "regex"
    pattern: str


class QwenXMLParameterFormat(BaseModel):
    """The older name of the style ``qwen_xml``."""

    type: Literal["qwen_xml_parameter"] = "qwen_xml_parameter"
    json_schema: _Schema


class SequenceFormat(BaseModel):
    """One format behind the other."""

    type: Literal["sequence"] = "sequence"
    elements: list[Format]


class OrFormat(BaseModel):
    """One of several formats."""

    type: Literal["or"] = "or"
    elements: list[Format]


class TagFormat(BaseModel):
    """A begin, a content, and an end, or one of several."""

    type: Literal["tag"] = "tag"
    begin: str | TokenFormat
    content: Format
    end: str | list[str] | TokenFormat


class TriggeredTagsFormat(BaseModel):
    """Free text, and wherever a trigger occurs, one of the tags that begin with it."""

    type: Literal["triggered_tags"] = "triggered_tags"
    triggers: list[str]
    tags: list[TagFormat]
    at_least_one: bool = False
    stop_after_first: bool = False
    excludes: list[str] = []


class TokenTriggeredTagsFormat(BaseModel):
    """Free tokens, and wherever a trigger occurs, one of the tags that begin with it."""

    type: Literal["token_triggered_tags"] = "token_triggered_tags"
    trigger_tokens: list[_Token]
    tags: list[TagFormat]
    exclude_tokens: list[_Token] = []
    at_least_one: bool = False
    stop_after_first: bool = False


class TagsWithSeparatorFormat(BaseModel):
    """Tags with a separator between them."""

    type: Literal["tags_with_separator"] = "tags_with_separator"
    tags: list[TagFormat]
    separator: str
    at_least_one: bool = False
    stop_after_first: bool = False


class OptionalFormat(BaseModel):
    """A format or nothing."""

    type: Literal["optional"] = "optional"
    content: Format


class PlusFormat(BaseModel):
    """A format once or more often."""

    type: Literal["plus"] = "plus"
    content: Format


class StarFormat(BaseModel):
    """A format any number of times."""

    type: Literal["star"] = "star"
    content: Format


class RepeatFormat(BaseModel):
    """A format so many times; ``max`` is -1 for no bound."""

    type: Literal["repeat"] = "repeat"
    min: int
    max: int
    content: Format


class DispatchFormat(BaseModel):
    """Free text, and behind each occurrence of a pattern its format."""

    type: Literal["dispatch"] = "dispatch"
    rules: list[tuple[str, Format]]
    loop: bool = True
    excludes: list[str] = []


class TokenDispatchFormat(BaseModel):
    """Free tokens, and behind each occurrence of a token its format."""

    type: Literal["token_dispatch"] = "token_dispatch"
    rules: list[tuple[_Token, Format]]
    loop: bool = True
    exclude_tokens: list[_Token] = []


Format = Annotated[
    AnyTextFormat
    | ConstStringFormat
    | JSONSchemaFormat
    | GrammarFormat
    | RegexFormat
    | QwenXMLParameterFormat
    | OrFormat
    | SequenceFormat
    | TagFormat
    | TriggeredTagsFormat
    | TokenTriggeredTagsFormat
    | TagsWithSeparatorFormat
    | OptionalFormat
    | PlusFormat
    | StarFormat
    | RepeatFormat
    | DispatchFormat
    | TokenDispatchFormat
    | TokenFormat
    | ExcludeTokenFormat
    | AnyTokensFormat,
    Field(discriminator="type"),
]

for _model in (
    SequenceFormat,
    OrFormat,
    TagFormat,
    TriggeredTagsFormat,
    TokenTriggeredTagsFormat,
    TagsWithSeparatorFormat,
    OptionalFormat,
    PlusFormat,
    StarFormat,
    RepeatFormat,
    DispatchFormat,
    TokenDispatchFormat,
):
    _model.model_rebuild()


class StructuralTagItem(BaseModel):
    """A tag of the older form: a begin, a schema, and an end."""

    model_config = ConfigDict(populate_by_name=True)

    begin: str
    schema_: str | type[BaseModel] | dict[str, Any] = Field(alias="schema")
    end: str


class StructuralTag(BaseModel):
    """The envelope of a format."""

    type: Literal["structural_tag"] = "structural_tag"
    format: Format

    @staticmethod
    def from_json(json_str: str | dict[str, Any]) -> StructuralTag:
        """Read JSON text or a dict."""
        if isinstance(json_str, str):
            return StructuralTag.model_validate_json(json_str)
        if isinstance(json_str, dict):
            return StructuralTag.model_validate(json_str)
        raise ValueError("expected JSON text or a dict")

    @staticmethod
    def from_legacy_structural_tag(tags: list[StructuralTagItem], triggers: list[str]) -> StructuralTag:
        """Return the tag that the older form means."""
        made = [
            TagFormat(begin=tag.begin, content=JSONSchemaFormat(json_schema=_schema_of(tag.schema_)), end=tag.end)
            for tag in tags
        ]
        return StructuralTag(format=TriggeredTagsFormat(triggers=triggers, tags=made))


def _schema_of(schema):
    if isinstance(schema, str):
        return json.loads(schema)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_json_schema()
    return schema


def tag_text(args, kwargs):
    """Return the JSON text of a tag that was given in one of four forms."""
    if len(args) > 2:
        raise TypeError(f"expected a structural tag, or tags and triggers, not {len(args)} arguments")
    names = ["structural_tag"] if len(args) + len(kwargs) == 1 else ["tags", "triggers"]
    given = dict(zip(names, args, strict=False)) | kwargs
    if set(given) == {"tags", "triggers"}:
        tag = StructuralTag.from_legacy_structural_tag(given["tags"], given["triggers"])
    elif set(given) == {"structural_tag"}:
        tag = given["structural_tag"]
    else:
        raise TypeError(f"expected a structural tag, or tags and triggers, not {sorted(given)}")
    if isinstance(tag, str):
        return tag
    if isinstance(tag, BaseModel):
        return tag.model_dump_json()
    if isinstance(tag, dict):
        return json.dumps(tag, ensure_ascii=False)
    raise TypeError(f"a structural tag is an object, a dict or JSON text, not {type(tag).__name__}")


def with_token_ids(text, tokenizer_info):
    """Return a tag in which tokens that are given by their spelling are given by their ids."""
    if '"token"' not in text and "_token" not in text:
        return text
    try:
        tag = json.loads(text)
    except ValueError:
        # What is wrong with it is said where it is read.
        return text
    ids = None

    def found(token):
        nonlocal ids
        if not isinstance(token, str) or tokenizer_info._vocab.ids_named(token):
            return token
        if ids is None:
            ids = {}
            for index, spelling in enumerate(tokenizer_info._decoded):
                ids.setdefault(spelling, index)
        return ids.get(token.encode(), token)

    pending = [tag]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
            continue
        if not isinstance(node, dict):
            continue
        if "token" in node and node.get("type") == "token":
            node["token"] = found(node["token"])
        for name in ("exclude_tokens", "trigger_tokens"):
            if isinstance(node.get(name), list):
                node[name] = [found(token) for token in node[name]]
        if node.get("type") == "token_dispatch" and isinstance(node.get("rules"), list):
            node["rules"] = [[found(rule[0]), *rule[1:]] if rule else rule for rule in node["rules"]]
        pending.extend(value for name, value in node.items() if name != "json_schema")
    return json.dumps(tag, ensure_ascii=False)
