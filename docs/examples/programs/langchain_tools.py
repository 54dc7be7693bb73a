"""LangChain tools that ask guard before they run.

Requirements: pip install langchain-core, and guard_client.py from docs/clients.

    PYTHONPATH=docs/clients python docs/examples/programs/langchain_tools.py

A scripted model replaces a real one, so that the example runs without an API key: it lists the events and then tries to delete one.
A call that guard or a person denies does not run; the tool returns an error to the model instead.
"""

from guard_client import Refused, guarded
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import ToolException, tool

EVENTS = {"7": "Dentist"}


@guarded("calendar.list_events")
def _list_events():
    return ", ".join(f"{id}: {title}" for id, title in EVENTS.items())


@guarded("calendar.delete_event", timeout=50)
def _delete_event(id):
    return f"deleted {EVENTS.pop(id)}"


@tool
def list_events() -> str:
    """List the events of the calendar."""
    return _list_events()


@tool
def delete_event(id: str) -> str:
    """Delete an event of the calendar."""
    try:
        return _delete_event(id)
    except Refused as refused:
        raise ToolException(refused.reason) from refused


delete_event.handle_tool_error = True
TOOLS = {each.name: each for each in (list_events, delete_event)}


def call(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name, "type": "tool_call"}])


# In its place: init_chat_model("…").bind_tools(list(TOOLS.values()))
model = FakeMessagesListChatModel(responses=[call("list_events"), call("delete_event", id="7"), AIMessage("Done.")])


def main():
    messages = [HumanMessage("Clear my calendar.")]
    while True:
        answer = model.invoke(messages)
        messages.append(answer)
        if not answer.tool_calls:
            break
        for wanted in answer.tool_calls:
            result = TOOLS[wanted["name"]].invoke(wanted)
            print(f"{wanted['name']}: {result.content}")
            messages.append(result)
    print(f"events: {EVENTS}")


if __name__ == "__main__":
    main()
