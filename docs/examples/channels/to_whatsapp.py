"""Sends the message to a WhatsApp user through the Cloud API.

Arguments: the URL of the API, which contains its version and the id of your number; the number of the recipient; and a file (mode
0600) with the access token.

    [[channel]]
    name = "whatsapp"
    kind = "program"
    command = ["/usr/bin/python3", "/opt/guard/channels/to_whatsapp.py", "https://graph.facebook.com/v21.0/123456789/messages", "15550101", "/home/ada/.config/guard/whatsapp.secret"]

WhatsApp accepts free text only within 24 hours after the recipient wrote to your number; otherwise it requires an approved template.
"""

import sys

from message import read, secret, send

url, recipient, token = sys.argv[1:]
text, _ = read()
body = {
    "messaging_product": "whatsapp",
    "to": recipient,
    "type": "text",
    "text": {"body": text, "preview_url": False},
}
send("POST", url, body, secret(token))
