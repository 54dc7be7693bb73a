"""Sends the message to a Microsoft Teams channel.

Argument: a file (mode 0600) with the address that the workflow "When a Teams webhook request is received" provides. Anyone who knows
the address can post to the channel.

    [[channel]]
    name = "teams"
    kind = "program"
    command = ["/usr/bin/python3", "/opt/guard/channels/to_teams.py", "/home/ada/.config/guard/teams.secret"]
"""

import sys

from message import read, secret, send

text, link = read()
# A TextBlock would interpret markup in a command; a TextRun shows the text unchanged.
inlines = [{"type": "TextRun", "text": text, "fontType": "Monospace"}]
card = {
    "type": "AdaptiveCard",
    "version": "1.4",
    "body": [{"type": "RichTextBlock", "inlines": inlines}],
    "actions": [{"type": "Action.OpenUrl", "title": "Answer", "url": link}] if link else [],
}
attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
send("POST", secret(sys.argv[1]), {"type": "message", "attachments": [attachment]})
