"""Tells somebody by WhatsApp's Cloud API. Its arguments: the address to post to, which has the API's version and the id of your
number, the recipient's number, and the file (0600) with the access token.

    [[channel]]
    name = "whatsapp"
    kind = "program"
    command = ["/usr/bin/python3", "/opt/guard/channels/to_whatsapp.py", "https://graph.facebook.com/v21.0/123456789/messages", "15550101", "/home/ada/.config/guard/whatsapp.secret"]

WhatsApp takes free text only within a day after the recipient wrote to your number; else it wants a template that it approved.
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
