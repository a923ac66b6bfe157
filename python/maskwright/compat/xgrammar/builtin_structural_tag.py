"""Structural tags for the tool calls of models."""

import json

import maskwright

from .openai_tool_call_schema import AllowedToolChoiceParam, BuiltinToolParam, FunctionToolParam
from .structural_tag import StructuralTag

#: Builders by the name of the model.
_registry = {}


def register_model_structural_tag(name):
    """Return a decorator that registers a builder of structural tags under a name.

    The builder is called with the function tools, the tools of the server, the simplified choice, and the other arguments of ``get_model_structural_tag`` by name.
    """

    def register(function):
        _registry[name] = function
        return function

    return register


def _as_dict(value):
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value


def _builtin_name(tool):
    return tool.name or tool.type


def normalize_tool_choice(tools=None, tool_choice="auto"):
    """Return the function tools that may be called, the tools of the server that may be, and ``"auto"``, ``"required"`` or ``"forced"``."""
    if tools is not None and not isinstance(tools, list):
        raise ValueError("The tools must be a list")
    functions, builtins = [], []
    for tool in map(_as_dict, tools or []):
        # A tool with a function is one, also where it doesn't say so.
        if not isinstance(tool, dict) or not ("type" in tool or "function" in tool):
            raise ValueError(f"a tool has a type, and {tool!r} has none")
        if tool.get("type", "function") == "function":
            functions.append(FunctionToolParam.model_validate(tool))
        else:
            builtins.append(BuiltinToolParam.model_validate(tool))
    choice = "auto" if tool_choice is None else _as_dict(tool_choice)
    if choice == "none":
        return [], [], "auto"
    if choice == "auto":
        return functions, builtins, "auto"
    if choice == "required":
        return _required(functions, builtins)
    if not isinstance(choice, dict) or "type" not in choice:
        raise ValueError(f"there is no choice {choice!r}")
    if choice["type"] == "allowed_tools":
        return _allowed(functions, builtins, AllowedToolChoiceParam.model_validate(choice).allowed_tools)
    if choice["type"] == "function":
        name = choice.get("function", {}).get("name")
        found = [tool for tool in functions if tool.function.name == name]
        if len(found) != 1:
            raise ValueError(f"there is no function {name!r}, or more than one")
        return found, [], "forced"
    found = [tool for tool in builtins if tool.type == choice["type"]]
    if len(found) != 1:
        raise ValueError(f"there is no tool of type {choice['type']!r}, or more than one")
    return [], found, "forced"


def _required(functions, builtins):
    if not functions and not builtins:
        raise ValueError("a call is required, and there are no tools")
    return functions, builtins, "required"


def _allowed(functions, builtins, allowed):
    kept_functions, kept_builtins = [], []
    for ref in allowed.tools:
        if ref.type == "function":
            name = ref.function.name if ref.function is not None else ref.name
            found = [tool for tool in functions if tool.function.name == name]
            kept_functions += found
        else:
            name = ref.type
            found = [tool for tool in builtins if tool.type == ref.type]
            kept_builtins += found
        if not found:
            raise ValueError(f"the allowed tool {name!r} is not among the tools")
    if allowed.mode == "required":
        return _required(kept_functions, kept_builtins)
    return kept_functions, kept_builtins, "auto"


def get_model_structural_tag(
    model,
    tools=None,
    tool_choice="auto",
    reasoning="enabled",
    force_reasoning=False,
    any_order=False,
    exclude_special_tokens=True,
    max_whitespace_cnt=None,
    parallel_tool_calls=True,
):
    """Return the structural tag of outputs of a model, with reasoning before or not, and with calls of tools as the choice says.

    ``reasoning="enabled"``: the output begins within the reasoning, as behind the prompts of models that open it there; ``"auto"``: it may begin with the marker that opens it.
    """
    build = _registry.get(model)
    if build is None:
        # One of Maskwright's own formats, if there is one of this name.
        try:
            maskwright.tool_call_tag(model, [])
        except ValueError as error:
            raise ValueError(f"Unknown format type: {model!r}; supported types are {sorted(_registry)}") from error
        build = _builder(model)
    functions, builtins, choice = normalize_tool_choice(tools, tool_choice)
    if not isinstance(parallel_tool_calls, bool):
        raise ValueError(f"parallel_tool_calls is True or False, not {parallel_tool_calls!r}")
    options = {
        "reasoning": _reasoning_mode(reasoning),
        "any_order": any_order,
        "exclude_special_tokens": exclude_special_tokens,
        "max_whitespace_cnt": max_whitespace_cnt,
        "parallel_tool_calls": parallel_tool_calls,
    }
    return build(functions, builtins, choice, **options)


def _reasoning_mode(reasoning):
    mode = {True: "enabled", False: "disabled"}.get(reasoning, reasoning)
    if mode not in ("enabled", "disabled", "auto"):
        raise ValueError(f"reasoning is enabled, disabled or auto, not {reasoning!r}")
    return mode


def _built(model, functions, builtins, choice, *, reasoning, any_order, exclude_special_tokens, max_whitespace_cnt, parallel_tool_calls):
    """Return the tag for tools and a choice that were normalized."""
    named = [(tool.function.name, _arguments(tool.function)) for tool in functions]
    named += [(_builtin_name(tool), True if tool.parameters is None else tool.parameters) for tool in builtins]

    def tag(thinking):
        wanted = {"name": named[0][0]} if choice == "forced" else choice
        text = maskwright.tool_call_tag(
            _FORMATS.get(model, model), named, choice=wanted, thinking=thinking, parallel=parallel_tool_calls
        )
        return json.loads(text)["format"]

    made = tag("off")
    if reasoning != "disabled":
        opened = "from_marker" if reasoning == "auto" or model in _OPENED_IN_OUTPUT else "from_inside"
        try:
            reasoned = tag(opened)
        except ValueError as error:
            # A model that doesn't reason.
            if "reasoning" not in str(error):
                raise
        else:
            made = {"type": "or", "elements": [reasoned, made]} if reasoning == "auto" else reasoned
    for node in _nodes(made):
        if node.get("type") == "json_schema":
            node["any_order"] = any_order
            if max_whitespace_cnt is not None:
                node["max_whitespace_cnt"] = max_whitespace_cnt
        elif not exclude_special_tokens and "excludes" in node:
            # Markers of calls stay excluded, or else text could begin a call that nothing constrains.
            node["excludes"] = [text for text in node["excludes"] if named and "think" not in text.lower()]
    return StructuralTag.model_validate({"type": "structural_tag", "format": made})


#: The names of models whose formats have another name in Maskwright.
_FORMATS = {"qwen_3_5": "qwen_3_coder"}

#: Models whose reasoning begins with a marker that they write themselves.
_OPENED_IN_OUTPUT = frozenset(["mimo"])

#: The older name.
get_builtin_structural_tag = get_model_structural_tag


def _builder(model, reasoning_default="enabled"):
    """Return the function of one model, whose tools and choice are those that ``normalize_tool_choice`` returns."""

    def build(
        tools=None,
        builtin_tools=None,
        tool_choice="auto",
        reasoning=reasoning_default,
        any_order=False,
        exclude_special_tokens=True,
        max_whitespace_cnt=None,
        parallel_tool_calls=True,
        **_,
    ):
        return _built(
            model,
            tools or [],
            builtin_tools or [],
            tool_choice,
            reasoning=_reasoning_mode(reasoning),
            any_order=any_order,
            exclude_special_tokens=exclude_special_tokens,
            max_whitespace_cnt=max_whitespace_cnt,
            parallel_tool_calls=parallel_tool_calls,
        )

    build.__name__ = build.__qualname__ = f"get_{model}_structural_tag"
    build.__doc__ = f"""Return the structural tag of ``{model}``, as ``get_model_structural_tag`` does."""
    return build


get_cohere_structural_tag = _builder("cohere")
get_deepseek_r1_structural_tag = _builder("deepseek_r1")
get_deepseek_v3_1_structural_tag = _builder("deepseek_v3_1")
get_deepseek_v3_2_structural_tag = _builder("deepseek_v3_2")
get_deepseek_v4_structural_tag = _builder("deepseek_v4")
get_deepseek_v4_1_structural_tag = _builder("deepseek_v4_1")
get_exaone_structural_tag = _builder("exaone")
get_glm_4_7_structural_tag = _builder("glm_4_7")
get_harmony_structural_tag = _builder("harmony")
get_kimi_structural_tag = _builder("kimi")
get_kimi_k3_structural_tag = _builder("kimi_k3")
get_llama_structural_tag = _builder("llama")
get_mimo_structural_tag = _builder("mimo")
get_minimax_structural_tag = _builder("minimax")
get_minimax_m3_structural_tag = _builder("minimax_m3", "auto")
get_qwen_3_structural_tag = _builder("qwen_3")
get_qwen_3_5_structural_tag = _builder("qwen_3_5")
get_qwen_3_coder_structural_tag = get_qwen_3_5_structural_tag

_registry.update(
    cohere=get_cohere_structural_tag,
    deepseek_r1=get_deepseek_r1_structural_tag,
    deepseek_v3_1=get_deepseek_v3_1_structural_tag,
    deepseek_v3_2=get_deepseek_v3_2_structural_tag,
    deepseek_v4=get_deepseek_v4_structural_tag,
    deepseek_v4_1=get_deepseek_v4_1_structural_tag,
    exaone=get_exaone_structural_tag,
    glm_4_7=get_glm_4_7_structural_tag,
    harmony=get_harmony_structural_tag,
    kimi=get_kimi_structural_tag,
    kimi_k3=get_kimi_k3_structural_tag,
    llama=get_llama_structural_tag,
    mimo=get_mimo_structural_tag,
    minimax=get_minimax_structural_tag,
    minimax_m3=get_minimax_m3_structural_tag,
    qwen_3=get_qwen_3_structural_tag,
    qwen_3_5=get_qwen_3_5_structural_tag,
    qwen_3_coder=get_qwen_3_coder_structural_tag,
)


def _arguments(function):
    return True if function.parameters is None or function.strict is False else function.parameters


def _nodes(tag):
    """Yield the formats of a tag, at any depth."""
    pending = [tag]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            yield node
            pending.extend(value for name, value in node.items() if name != "json_schema")
