"""What the gateway writes to a program of a channel, as plain text: for the programs beside this.

The gateway has made visible what does not show, and redacted secrets. Nothing here is markup, and none of it may be read as such.
"""

import json
import sys
import urllib.request

# The longest command that is shown; what is cut is said to be.
MOST = 1500


def read():
    """The message on standard input: its text, and the page's address where there is one."""
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
    """What lies in a file that only its owner can read."""
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def send(method, url, body, token=None):
    """Sends JSON. Ends with an error, and so has the gateway try the next channel, where it is not taken."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=8) as answer:
        answer.read()
