"""Converts the message that the gateway writes to a channel program into plain text, for the programs in this directory.

The gateway has already made invisible characters visible and redacted secrets. The text is not markup: send it as plain text.
"""

import json
import sys
import urllib.request

# The maximum length of a command; a longer one is truncated, and the text says so.
MOST = 1500


def read():
    """Returns the text of the message on standard input, and the address of the page if there is one."""
    message = json.loads(sys.stdin.readline())
    data = message["data"]
    if message["type"] != "request.filed":
        # How a request ended, or a notice.
        name = f"{data['request']}: " if data.get("request") else ""
        return f"guard: {name}{data['text']}", None
    command = data["command"]
    if len(command) > MOST:
        command = f"{command[:MOST]} ... (cut: {len(command)} characters in all)"
    lines = [
        f"guard asks ({data['tier_name']}, {data['score']}): {data['why']}",
        command,
        f"in {data['cwd']}, by {data['who']}; {data['timeout_secs']} s",
    ]
    if data.get("said"):
        lines.append(f"Reason given: {data['said']}")
    link = data.get("link")
    lines.append(f"Answer: {link}" if link else f"Answer at a terminal: guard approve {data['request']}, or guard deny")
    return "\n".join(lines), link


def secret(path):
    """Returns the secret in a file."""
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def send(method, url, body, token=None):
    """Sends JSON. If the server rejects it, the program ends with an error, and the gateway tries the next channel."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=8) as answer:
        answer.read()
