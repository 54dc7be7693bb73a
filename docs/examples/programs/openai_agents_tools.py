"""Tools of the OpenAI Agents SDK that ask guard before they run.

Requirements: pip install openai-agents, and guard_client.py from docs/clients.

    PYTHONPATH=docs/clients python docs/examples/programs/openai_agents_tools.py

A scripted model replaces a real one, so that the example runs without an API key: it lists the events and then tries to delete one.
A call that guard or a person denies does not run; the tool returns an error to the model instead.
"""

import asyncio
import json

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from guard_client import guarded
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

EVENTS = {"7": "Dentist"}


def refused(_context, error):
    """Returns the message for the model: a refusal is one line of text."""
    return str(error)


@function_tool(failure_error_function=refused)
@guarded("calendar.list_events")
async def list_events() -> str:
    """List the events of the calendar."""
    return ", ".join(f"{id}: {title}" for id, title in EVENTS.items())


@function_tool(failure_error_function=refused)
@guarded("calendar.delete_event", timeout=50)
async def delete_event(id: str) -> str:
    """Delete an event of the calendar."""
    return f"deleted {EVENTS.pop(id)}"


class Scripted(Model):
    """In its place: the name of a model, as in Agent(model="…")."""

    def __init__(self):
        self.turns = iter([("list_events", {}), ("delete_event", {"id": "7"}), None])

    async def get_response(self, *args, **kwargs):
        wanted = next(self.turns)
        if wanted is None:
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            said = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        else:
            name, given = wanted
            said = ResponseFunctionToolCall(type="function_call", call_id=name, name=name, arguments=json.dumps(given))
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main():
    set_tracing_disabled(True)
    agent = Agent(name="calendar", tools=[list_events, delete_event], model=Scripted())
    result = await Runner.run(agent, "Clear my calendar.")
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(f"{item.raw_item['call_id']}: {item.output}")
    print(f"events: {EVENTS}")


if __name__ == "__main__":
    asyncio.run(main())
