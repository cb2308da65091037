"""Models of any provider, through pydantic-ai-slim (extra `agent`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boathook.agent.model import ASSISTANT, SYSTEM, TOOL, BrokenCall, Message, Model, Reply, ToolSpec
from boathook.core.json_text import describe_json_type
from boathook.errors import ConfigError
from boathook.inprocess.operations import ToolCall
from boathook.system.extras import suggest_packages

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


def load_model(name: str) -> Model:
    if ":" not in name:
        raise ConfigError(f"write the model as provider:name, such as openai:gpt-5-mini, not '{name}'")
    try:
        from pydantic_ai.models import infer_model
    except ImportError:
        raise ConfigError(f"a library for models is missing. Install it with: {suggest_packages('agent')}") from None
    try:
        return ProviderModel(name, infer_model(name))
    except Exception as error:
        raise ConfigError(f"the model {name} cannot be used: {error}") from error


class ProviderModel:
    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import TextPart, ToolCallPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        definitions = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
            for tool in tools
        ]
        parameters = ModelRequestParameters(function_tools=definitions, allow_text_output=True)
        # The connections belong to this event loop, and a program may use several loops one after the other.
        async with self._model:
            request = to_provider_messages(messages)
            response = await model_request(self._model, request, model_request_parameters=parameters)
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
        return Reply(text, tuple(map(read_model_call, parts)), response.usage.total_tokens or None)


def read_model_call(part: Any) -> ToolCall:
    """Return a call of the model; broken JSON is an error of the model, not an argument."""
    args = part.args or {}
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except ValueError as error:
            problem = f"the arguments are not JSON: {error}"
            return BrokenCall(part.tool_name, {}, part.tool_call_id, problem)
    if not isinstance(args, dict):
        problem = f"the arguments must be a JSON object, not {describe_json_type(args)}"
        return BrokenCall(part.tool_name, {}, part.tool_call_id, problem)
    return ToolCall(part.tool_name, args, part.tool_call_id)


def to_provider_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return a conversation in the form of the library: messages that are not the model's are parts of requests, in order."""
    from pydantic_ai import messages as library

    converted: list[Any] = []
    for message in messages:
        if message.role == ASSISTANT:
            parts: list[Any] = [library.TextPart(message.text)] if message.text else []
            parts += [library.ToolCallPart(call.name, dict(call.args), call.id) for call in message.calls]
            # Providers refuse an empty response.
            converted += [library.ModelResponse(parts=parts)] if parts else []
            continue
        part: Any
        if message.role == SYSTEM:
            part = library.SystemPromptPart(message.text)
        elif message.role == TOOL:
            part = library.ToolReturnPart(message.name, message.text, message.call_id)
            if message.is_error:
                part = library.ToolReturnPart(message.name, f"error: {message.text}", message.call_id, outcome="failed")
        else:
            part = library.UserPromptPart(message.text)
        if converted and isinstance(converted[-1], library.ModelRequest):
            converted[-1] = library.ModelRequest(parts=[*converted[-1].parts, part])
        else:
            converted.append(library.ModelRequest(parts=[part]))
    return converted
