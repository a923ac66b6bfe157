"""Maskwright in vLLM: takes the place of the backend named ``xgrammar``, validation included.

``register`` is an entry point of ``vllm.general_plugins``: vLLM calls it in every process of its own, and it does nothing unless the environment says ``MASKWRIGHT_VLLM=1`` or names ``maskwright`` in
``VLLM_PLUGINS``. Then every request of structured outputs is Maskwright's, whatever ``structured_outputs_config.backend`` says of ``auto`` or ``xgrammar``; other backends that are asked for by name are left alone.

No vLLM file is changed. Four names are replaced: the backend class (in the two modules that have it), the validator, the choice of a backend by ``auto``, and the key of a request, which then carries options
that vLLM reads and drops (``whitespace_pattern``, ``disable_any_whitespace``).

``python -m maskwright.vllm`` tells whether all of this works in the vLLM that is installed.

A request that can't be compiled fails alone. No call of a decoding step raises: a matcher that can't go on allows the stop tokens only, and the reason is logged.
"""

import copy
import functools
import importlib
import importlib.metadata
import inspect
import json
import os
import sys
import weakref
from typing import Any

from maskwright._core import Matcher, Vocab, __version__
from maskwright._requests import COMPILE_SECONDS_MAX, BitmaskCache, RequestCompiler, Validator, white_space_options
from maskwright._sequences import close_row

#: Attribute of replaced functions and classes, by which a second call of ``register`` knows them.
_MARK = "_is_maskwright"


def is_wanted() -> bool:
    """Return whether the environment asks for Maskwright: ``MASKWRIGHT_VLLM`` is 1, or it is not set and ``VLLM_PLUGINS`` names ``maskwright``."""
    switch = os.environ.get("MASKWRIGHT_VLLM")
    if switch is not None:
        if switch not in ("0", "1", ""):
            raise ValueError(f"MASKWRIGHT_VLLM is 1 or 0, not {switch!r}")
        return switch == "1"
    return "maskwright" in os.environ.get("VLLM_PLUGINS", "").split(",")


def is_active() -> bool:
    """Return whether vLLM's backend ``xgrammar`` is Maskwright in this process."""
    module = sys.modules.get("vllm.v1.structured_output")
    return getattr(getattr(module, "XgrammarBackend", None), _MARK, False)


def compile_seconds_max() -> float | None:
    """Return how long one request may take to compile, in seconds: ``MASKWRIGHT_COMPILE_TIMEOUT``, where 0 is no limit."""
    text = os.environ.get("MASKWRIGHT_COMPILE_TIMEOUT")
    seconds = COMPILE_SECONDS_MAX if text is None else float(text)
    return seconds if seconds > 0 else None


def register() -> None:
    """Install Maskwright in this process of vLLM if the environment asks for it.

    Raises ``RuntimeError`` if vLLM lacks what has to be replaced: vLLM then doesn't start, instead of serving with another backend.
    """
    if not is_wanted() or is_active():
        return
    try:
        _install()
    except Exception as error:
        message = f"Maskwright can't install itself in this vLLM: {type(error).__name__}: {error}. Unset MASKWRIGHT_VLLM to run without."
        raise RuntimeError(message) from error


def _install() -> None:
    compile_seconds_max()
    structured_output = importlib.import_module("vllm.v1.structured_output")
    backend_xgrammar = importlib.import_module("vllm.v1.structured_output.backend_xgrammar")
    request = importlib.import_module("vllm.v1.structured_output.request")
    sampling_params = importlib.import_module("vllm.sampling_params")
    exceptions = importlib.import_module("vllm.exceptions")
    backend = backend_class()
    places = [
        (structured_output, "XgrammarBackend", backend),
        (backend_xgrammar, "XgrammarBackend", backend),
        (backend_xgrammar, "validate_xgrammar_grammar", validate),
        (request, "get_structured_output_key", _with_options(request.get_structured_output_key)),
        (
            sampling_params.SamplingParams,
            "_validate_structured_outputs",
            _always_xgrammar(sampling_params.SamplingParams._validate_structured_outputs),
        ),
    ]
    # Beam search has the key's function by name.
    beams = sys.modules.get("vllm.entrypoints.generate.beam_search.offline")
    if beams is not None:
        places.append((beams, "get_structured_output_key", _with_options(beams.get_structured_output_key)))
    for module, name, _ in [*places, (exceptions, "VLLMValidationError", None)]:
        if not hasattr(module, name):
            raise AttributeError(f"{module.__name__} has no {name}")
    for module, name, value in places:
        setattr(module, name, value)
    # vLLM may configure its logs later than this: the backend says so again.
    _logger().info("Maskwright %s takes the place of xgrammar", __version__)


def _logger() -> Any:
    """Return a logger that vLLM shows."""
    return importlib.import_module("vllm.logger").init_logger("vllm.maskwright")


class SpecWithOptions(str):
    """The text of a request, with options of its schemas that vLLM has no other place for."""

    options: dict[str, Any]

    def __new__(cls, text: str, options: dict[str, Any]) -> "SpecWithOptions":
        spec = super().__new__(cls, text)
        spec.options = options
        return spec


def request_options(params: Any) -> dict[str, Any]:
    """Return the schema options that a ``StructuredOutputsParams`` asks for. Raises ``ValueError`` if they can't be honoured."""
    return white_space_options(
        pattern=getattr(params, "whitespace_pattern", None), is_compact=bool(getattr(params, "disable_any_whitespace", False))
    )


def _with_options(get_key: Any) -> Any:
    """Return vLLM's function from the parameters of a request to its kind and text, with options beside the text."""
    if getattr(get_key, _MARK, False):
        return get_key

    @functools.wraps(get_key)
    def get_structured_output_key(params: Any) -> Any:
        kind, spec = get_key(params)
        options = request_options(params)
        return (kind, SpecWithOptions(spec, options)) if options else (kind, spec)

    setattr(get_structured_output_key, _MARK, True)
    return get_structured_output_key


def _always_xgrammar(validate_outputs: Any) -> Any:
    """Return vLLM's choice of a backend where ``auto`` is ``xgrammar``: no other backend is better at any request, and an engine has one."""
    if getattr(validate_outputs, _MARK, False):
        return validate_outputs

    signature = inspect.signature(validate_outputs)
    name = "structured_outputs_config"
    if name not in signature.parameters:
        raise TypeError(f"SamplingParams._validate_structured_outputs has no parameter {name}")

    @functools.wraps(validate_outputs)
    def _validate_structured_outputs(*args: Any, **kwargs: Any) -> Any:
        call = signature.bind(*args, **kwargs)
        config = call.arguments.get(name)
        if config is not None and config.backend not in ("auto", "xgrammar"):
            _report_other_backend(config.backend)
        elif config is not None and config.backend == "auto":
            call.arguments[name] = config = copy.copy(config)
            object.__setattr__(config, "backend", "xgrammar")
        return validate_outputs(*call.args, **call.kwargs)

    setattr(_validate_structured_outputs, _MARK, True)
    return _validate_structured_outputs


@functools.cache
def _report_other_backend(name: str) -> None:
    """Warn, once, that a server asks for Maskwright and for another backend."""
    _logger().warning("Maskwright is switched on, but this server asks for the backend %r, which serves its structured outputs", name)


@functools.cache
def _validator() -> Validator:
    return Validator()


def kind_and_spec(params: Any) -> tuple[str, str]:
    """Return the kind of constraint of a ``StructuredOutputsParams`` and its text. Raises ``ValueError`` if it is not of JSON."""
    if params.json is not None:
        return "json", params.json if isinstance(params.json, str) else json.dumps(params.json)
    if params.json_object:
        return "json_object", ""
    if params.regex is not None:
        return "regex", params.regex
    if params.choice is not None:
        return "choice", params.choice if isinstance(params.choice, str) else json.dumps(params.choice)
    if params.grammar is not None:
        return "grammar", params.grammar
    if params.structural_tag is not None:
        return "structural_tag", params.structural_tag
    raise ValueError("the request has no constraint")


def validate(sampling_params: Any) -> None:
    """Check the constraint of a request, in place of ``validate_xgrammar_grammar``. Raises ``VLLMValidationError``, which becomes the status 400 of this request."""
    params = sampling_params.structured_outputs
    if params is None:
        return
    try:
        kind, spec = kind_and_spec(params)
        _validator().check(kind, spec, **request_options(params))
    except (ValueError, TypeError, RecursionError) as error:
        refused = importlib.import_module("vllm.exceptions").VLLMValidationError
        raise refused(f"Invalid structured outputs: {error}") from error


#: Compilers by tokenizer, then by the width of logits: beam search makes a backend for each call.
_compilers: "weakref.WeakKeyDictionary[Any, dict[tuple[int, str], RequestCompiler]]" = weakref.WeakKeyDictionary()


def _compiler_for(tokenizer: Any, width: int, schema_options: dict[str, Any]) -> RequestCompiler:
    key = (width, json.dumps(schema_options))
    try:
        known = _compilers.setdefault(tokenizer, {})
    except TypeError:
        # What can't be a key, or can't be referred to weakly, is not remembered.
        known = {}
    if key not in known:
        vocab = Vocab.from_tokenizer(tokenizer, width=width)
        known[key] = RequestCompiler(
            vocab, timeout=compile_seconds_max(), logger=_logger(), schema_options=schema_options
        )
    return known[key]


@functools.cache
def backend_class() -> Any:
    """Return the class of backends: a ``StructuredOutputBackend`` of this vLLM."""
    types: Any = importlib.import_module("vllm.v1.structured_output.backend_types")
    options = types.StructuredOutputOptions
    kinds = {getattr(options, kind.upper()): kind for kind in ("json", "json_object", "regex", "choice", "grammar", "structural_tag")}
    grammar = grammar_class()

    class MaskwrightBackend(types.StructuredOutputBackend):  # type: ignore[misc, name-defined, unused-ignore]
        """Compiles the requests of one engine."""

        _is_maskwright = True

        def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
            super().__init__(vllm_config, tokenizer, vocab_size)
            config = self.vllm_config.structured_outputs_config
            schema_options = white_space_options(is_compact=bool(getattr(config, "disable_any_whitespace", False)))
            self.rows = BitmaskCache()
            self.compiler: RequestCompiler | None = None
            self.vocab_error: Exception | None = None
            # vLLM doesn't expect an exception here, only of a compile.
            try:
                self.compiler = _compiler_for(self.tokenizer, self.vocab_size, schema_options)
                _logger().info("Maskwright %s serves structured outputs: %s", __version__, self.compiler.vocab)
            except Exception as error:
                _logger().exception("Maskwright can't read the tokenizer: every request of structured outputs will fail")
                self.vocab_error = error

        def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None) -> Any:
            """Return a grammar at its beginning. An exception is the failure of this request only."""
            if self.compiler is None:
                raise ValueError(f"the tokenizer can't be read: {self.vocab_error}") from self.vocab_error
            compiled = self.compiler.compile(
                kinds[request_type], str(grammar_spec), **getattr(grammar_spec, "options", {})
            )
            # Ids beyond the logits can never be sampled.
            stop_tokens = sorted(token for token in stop_token_ids or () if 0 <= token < self.vocab_size) or None
            return grammar(compiled.matcher(stop_tokens=stop_tokens, fail_closed=True), self.rows)

        def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
            """Return a bitmask of shape ``[max_num_seqs, ceil(vocab_size / 32)]`` of int32."""
            torch = importlib.import_module("torch")
            return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

        def destroy(self) -> None:
            """Forget the compiler and the bitmask."""
            self.compiler = None
            self.rows = BitmaskCache()

    return MaskwrightBackend


@functools.cache
def grammar_class() -> Any:
    """Return the class of grammars: a ``StructuredOutputGrammar`` of this vLLM."""
    types: Any = importlib.import_module("vllm.v1.structured_output.backend_types")
    logger = _logger()

    class MaskwrightGrammar(types.StructuredOutputGrammar):  # type: ignore[misc, name-defined, unused-ignore]
        """The state of one output. No method raises."""

        def __init__(self, matcher: Matcher, rows: BitmaskCache) -> None:
            self.matcher = matcher
            self._rows = rows
            self._is_reported = False

        def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
            """Accept tokens up to the one that ends the output; those behind it are ignored. Returns whether all of them were allowed."""
            for token in tokens:
                if self.matcher.is_terminated:
                    break
                if not self.matcher.try_accept_token(token):
                    logger.error("Request %s: token %s of %s is not allowed%s", request_id, token, tokens, self._reason())
                    return False
            return True

        def validate_tokens(self, tokens: list[int]) -> list[int]:
            """Return the tokens that could be accepted, up to the one that ends the output. Nothing is accepted."""
            if self.matcher.is_terminated:
                return []
            accepted = tokens[: self.matcher.validate_tokens(tokens)]
            if any(token in self.matcher.stop_tokens for token in accepted[:-1]):
                trial = self.matcher.fork()
                for index, token in enumerate(accepted):
                    if not trial.try_accept_token(token) or trial.is_terminated:
                        return accepted[: index + 1]
            return accepted

        def rollback(self, num_tokens: int) -> None:
            """Take back tokens that were accepted."""
            try:
                self.matcher.rollback(num_tokens)
            except (TypeError, ValueError) as error:
                logger.error("Maskwright can't take back %s tokens: %s", num_tokens, error)

        def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
            """Write the row of what may follow; of the stop tokens if that can't be found."""
            error: Exception | None
            try:
                self.matcher.fill_mask(self._rows.of(bitmask), batch_index)
                error = self.matcher.error
            except Exception as failure:
                error = failure
                self._close_row(bitmask, batch_index)
            if error is not None and not self._is_reported:
                self._is_reported = True
                logger.error("Maskwright ends an output, because its mask can't be found: %s", error)

        def _close_row(self, bitmask: Any, row: int) -> None:
            try:
                close_row(bitmask, row, self.matcher.stop_tokens)
            except Exception:
                logger.exception("Maskwright can't write the row %s of a bitmask", row)

        def _reason(self) -> str:
            error = self.matcher.error
            return f": {error}" if error is not None else ""

        def is_terminated(self) -> bool:
            """Return whether the output has ended."""
            return self.matcher.is_terminated

        def reset(self) -> None:
            """Go back to the beginning."""
            self.matcher.reset()
            self._is_reported = False

    return MaskwrightGrammar


def main() -> int:
    """Print whether the vLLM that is installed will be served by Maskwright where the environment asks for it. Returns 0 if so."""
    os.environ["MASKWRIGHT_VLLM"] = "1"
    if not importlib.metadata.entry_points(group="vllm.general_plugins", name="maskwright"):
        print("vLLM doesn't find the plug-in: the package is not installed in this environment, only importable")
        return 1
    # What runs as a program is another module than what vLLM loads.
    adapter = importlib.import_module("maskwright.vllm")
    try:
        adapter.register()
    except RuntimeError as error:
        print(error)
        return 1
    is_ready = adapter.is_active()
    print(f"Maskwright {__version__} {'can take' if is_ready else 'did not take'} the place of xgrammar: start vLLM with MASKWRIGHT_VLLM=1")
    return 0 if is_ready else 1


if __name__ == "__main__":
    sys.exit(main())
