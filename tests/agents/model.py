#!/usr/bin/env python3
"""A stand-in for a model, on 127.0.0.1. It speaks four dialects, streaming and not:

  POST …/messages                      Anthropic Messages          (claude, droid, …)
  POST …/responses                     OpenAI Responses            (codex, copilot, grok, …)
  POST …/chat/completions              OpenAI Chat Completions     (qwen, opencode, kimi, hermes, cline, aider, goose)
  POST …/models/M:streamGenerateContent|generateContent   Gemini   (gemini)

It is given STEPS, a list of tool calls in no dialect:
  {"run": "git status", "background": true?}   {"write": "/path", "text": "…"}   {"edit": "/path", "old": "…", "new": "…"}
  {"raw": ["ToolName", {…arguments…}]}   {"say": "text"}   {"sleep": seconds}
Step n is answered when the request carries n tool results (so it keeps no state of its own); after the last step it says
DONE. Requests that offer no shell tool (titles, summaries) get a plain text. What the agent told its model about each
tool call is in .results, in order.
"""

import json, re, sys, threading, time, http.server, socketserver

SHELLS = [
    "Bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "run_shell_command",
    "bash",
    "Execute",
    "run_commands",
    "execute_command",
    "Shell",
    "terminal",
    "developer__shell",
    "run_terminal_command",
    "run_terminal_cmd",
    "run_command",
    "shell__execute",
]
WRITES = [
    "Write",
    "write_file",
    "WriteFile",
    "write",
    "create",
    "Create",
    "write_to_file",
    "developer__write",
    "apply_patch",
    "search_replace",
    "editor",
    "file_editor",
]


def tool_list(body):
    """name -> (schema, kind)"""
    found = {}
    for t in body.get("tools") or []:
        if "functionDeclarations" in t or "function_declarations" in t:
            for f in t.get("functionDeclarations") or t.get("function_declarations"):
                found[f["name"]] = (f.get("parametersJsonSchema") or f.get("parameters") or {}, "function")
        elif t.get("type") == "namespace":
            for f in t.get("tools") or []:
                found[f["name"]] = (f.get("parameters") or {}, f.get("type", "function"))
        elif "function" in t:
            found[t["function"]["name"]] = (t["function"].get("parameters") or {}, "function")
        elif "input_schema" in t:
            found[t["name"]] = (t["input_schema"], "function")
        elif t.get("name"):
            found[t["name"]] = (t.get("parameters") or {}, t.get("type", "function"))
        elif t.get("type") == "local_shell":
            found["local_shell"] = ({}, "local_shell")
    return found


def fill(schema, given):
    """given, and something for whatever else the schema requires"""
    properties = schema.get("properties") or {}
    out = {k: v for k, v in given.items() if not properties or k in properties}
    for name in schema.get("required") or []:
        if name in out:
            continue
        p = properties.get(name) or {}
        kind = p.get("type")
        kind = kind.lower() if isinstance(kind, str) else kind
        if p.get("enum"):
            out[name] = p["enum"][0]
        elif kind == "boolean":
            out[name] = False
        elif kind in ("integer", "number"):
            out[name] = 30
        elif kind == "array":
            out[name] = []
        elif kind == "object":
            out[name] = {}
        else:
            out[name] = "a test"
    return out


def call(step, tools):
    """(tool, arguments, kind) for a step"""
    if "raw" in step:
        name, args = step["raw"]
        return name, args, tools.get(name, ({}, "function"))[1]
    if "run" in step:
        name = next((n for n in SHELLS if n in tools), None) or next((n for n in tools if n.endswith("shell")), None)
        if not name:
            return None
        schema, kind = tools[name]
        props = schema.get("properties") or {}
        c = step["run"]
        given = {"command": c, "cmd": c, "description": "a test", "summary": "a test"}
        if props.get("command", {}).get("type") == "array":
            given["command"] = ["bash", "-lc", c]
        if "commands" in props:
            given["commands"] = [c]
        if step.get("background"):
            given.update({"run_in_background": True, "is_background": True, "background": True})
        if step.get("timeout"):
            given.update({"timeout": step["timeout"], "timeout_ms": step["timeout"], "yield_time_ms": step["timeout"]})
        else:
            given["yield_time_ms"] = 30000
        if name == "bash" and "initial_wait" in props:
            given["initial_wait"] = 60
        if "riskLevel" in props:
            given.update({"riskLevel": "low", "riskLevelReason": "a test"})
        return name, fill(schema, given), kind
    if "write" in step:
        name = next((n for n in WRITES if n in tools), None) or next(
            (n for n in tools if n.endswith(("write", "create"))), None
        )
        if not name:
            return None
        schema, kind = tools[name]
        p, t = step["write"], step["text"]
        own = {"command": "create"} if "create" in (schema.get("properties") or {}).get("command", {}).get("enum", []) else {}
        if name == "apply_patch":
            patch = "*** Begin Patch\n*** Add File: %s\n%s*** End Patch\n" % (
                p,
                "".join("+%s\n" % l for l in t.splitlines()),
            )
            return (
                (name, patch, "custom")
                if kind == "custom"
                else (name, fill(schema, {"input": patch, "patch": patch}), kind)
            )
        return (
            name,
            fill(
                schema,
                {
                    **own,
                    "file_path": p,
                    "filePath": p,
                    "path": p,
                    "absolute_path": p,
                    "content": t,
                    "file_text": t,
                    "new_string": t,
                    "old_string": "",
                    "contents": t,
                },
            ),
            kind,
        )
    if "edit" in step:
        name = next(
            (
                n
                for n in ("Edit", "replace", "edit", "StrReplaceFile", "patch", "str_replace", "search_replace")
                if n in tools
            ),
            None,
        )
        if not name:
            return None
        schema, kind = tools[name]
        p = step["edit"]
        return (
            name,
            fill(
                schema,
                {
                    "file_path": p,
                    "filePath": p,
                    "path": p,
                    "old_string": step["old"],
                    "oldString": step["old"],
                    "old_str": step["old"],
                    "new_string": step["new"],
                    "newString": step["new"],
                    "new_str": step["new"],
                    "mode": "replace",
                    "edit": {"old": step["old"], "new": step["new"]},
                },
            ),
            kind,
        )
    return None


def flat(x):
    if x is None:
        return ""
    if isinstance(x, str):
        return x
    if isinstance(x, list):
        return "".join(flat(i) for i in x)
    if isinstance(x, dict):
        if x.get("type") == "image":
            return "<image>"
        for k in ("text", "output", "content", "result", "error", "message"):
            if k in x and len(x) <= 4:
                rest = {a: b for a, b in x.items() if a not in (k, "type") and b not in (None, [], {})}
                return flat(x[k]) + ((" " + json.dumps(rest)) if rest and k != "text" else "")
        return json.dumps(x)
    return str(x)


class Model:
    def __init__(self, steps, port=0, log=None):
        self.steps, self.results, self.requests, self.log = steps, [], [], log
        # What an agent without tools is told: it finds the commands in the text.
        self.said = [step["say"] for step in steps if "say" in step]
        self.times = []  # when each tool call was handed out, when its result came
        self.lock = threading.Lock()
        model = self

        class H(Handler):
            pass

        H.model = model
        self.server = S(("127.0.0.1", port), H)
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def note(self, results):
        with self.lock:
            for r in results[len(self.results) :]:
                self.results.append(r)
                self.times.append(("result", time.time()))

    def next(self, n, tools):
        """what to answer after n results"""
        if not tools or not any(call(s, tools) for s in ({"run": "true"},)):
            return ("text", self.said.pop(0) if self.said and not tools else "ok")
        i = n
        if i >= len(self.steps):
            return ("text", "DONE")
        step = self.steps[i]
        if "sleep" in step:
            time.sleep(step["sleep"])
        if "raw" in step and '"@SID"' in json.dumps(step):
            # the number (or name) of the process that the last result told of
            last = self.results[-1] if self.results else ""
            m = (
                re.search(r"session ID (\d+)", last)
                or re.search(r'"session_id": ?"([^"]+)"', last)
                or re.search(r"(proc_\w+)", last)
            )
            sid = m.group(1) if m else "0"
            self.sid = sid if m else getattr(self, "sid", "0")
            step = json.loads(
                json.dumps(step).replace('"@SID"', self.sid if self.sid.isdigit() else json.dumps(self.sid))
            )
        c = call(step, tools)
        if c is None:
            return ("text", "NO TOOL FOR %s AMONG %s" % (json.dumps(step), sorted(tools)))
        with self.lock:
            self.times.append(("call", time.time()))
        return ("call", "call_%d_%d" % (i, self.port), *c)


class S(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request, address):
        import traceback

        t = traceback.format_exc()
        if "BrokenPipe" not in t and "ConnectionReset" not in t:
            sys.stderr.write(t)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *a):
        pass

    def json(self, value, code=200):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def sse(self, events):
        data = b""
        for name, value in events:
            if name:
                data += b"event: " + name.encode() + b"\n"
            data += b"data: " + (value if isinstance(value, str) else json.dumps(value)).encode() + b"\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def trace(self, body):
        m = self.model
        m.requests.append((self.command, self.path))
        if m.log:
            with open(m.log, "a") as f:
                f.write(json.dumps({"t": time.time(), "m": self.command, "p": self.path, "b": body}) + "\n")

    def do_GET(self):
        self.trace(None)
        p = self.path.split("?")[0]
        if p.endswith("/models") or "/models?" in self.path:
            return self.json(
                {
                    "object": "list",
                    "data": [
                        {"id": "fake", "object": "model", "created": 1, "owned_by": "x", "context_length": 200000}
                    ],
                    "models": [],
                }
            )
        return self.json({}, 200)

    do_HEAD = do_GET

    def do_POST(self):
        n = int(self.headers.get("content-length") or 0)
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b""
            while True:
                size = int(self.rfile.readline().strip() or b"0", 16)
                if not size:
                    self.rfile.readline()
                    break
                raw += self.rfile.read(size)
                self.rfile.readline()
        else:
            raw = self.rfile.read(n)
        enc = self.headers.get("content-encoding")
        if enc == "gzip":
            import gzip

            raw = gzip.decompress(raw)
        elif enc == "zstd":
            try:
                import subprocess

                raw = subprocess.run(["zstd", "-dcq"], input=raw, stdout=subprocess.PIPE).stdout
            except OSError:
                pass
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        self.trace(body)
        p = self.path.split("?")[0]
        if p.endswith("/count_tokens") or p.endswith(":countTokens"):
            return self.json({"input_tokens": 100, "totalTokens": 100})
        if p.endswith("/messages"):
            return self.anthropic(body)
        if p.endswith("/responses"):
            return self.openai_responses(body)
        if p.endswith("/chat/completions"):
            return self.chat(body)
        if "generatecontent" in p.lower():
            return self.gemini(body, "stream" in p)
        return self.json({})

    # ---- Anthropic
    def anthropic(self, b):
        results = []
        for m in b.get("messages", []):
            if isinstance(m.get("content"), list):
                for c in m["content"]:
                    if c.get("type") == "tool_result":
                        results.append(("ERROR " if c.get("is_error") else "") + flat(c.get("content")))
        tools = tool_list(b)
        if tools:
            self.model.note(results)
        a = self.model.next(len(results), tools)
        mid = "msg_%d" % int(time.time() * 1e6)
        usage = {
            "input_tokens": 10,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
        if a[0] == "text":
            content, stop = [{"type": "text", "text": a[1]}], "end_turn"
        else:
            content, stop = [{"type": "tool_use", "id": "toolu_" + a[1], "name": a[2], "input": a[3]}], "tool_use"
        msg = {
            "id": mid,
            "type": "message",
            "role": "assistant",
            "model": b.get("model", "fake"),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        if not b.get("stream"):
            return self.json(msg)
        ev = [("message_start", {"type": "message_start", "message": {**msg, "content": [], "stop_reason": None}})]
        c = content[0]
        if c["type"] == "text":
            ev += [
                (
                    "content_block_start",
                    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                ),
                (
                    "content_block_delta",
                    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": c["text"]}},
                ),
            ]
        else:
            ev += [
                (
                    "content_block_start",
                    {"type": "content_block_start", "index": 0, "content_block": {**c, "input": {}}},
                ),
                (
                    "content_block_delta",
                    {
                        "type": "content_block_delta",
                        "index": 0,
                        "delta": {"type": "input_json_delta", "partial_json": json.dumps(c["input"])},
                    },
                ),
            ]
        ev += [
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            (
                "message_delta",
                {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            ),
            ("message_stop", {"type": "message_stop"}),
        ]
        self.sse(ev)

    # ---- OpenAI Responses
    def openai_responses(self, b):
        results = []
        for i in b.get("input") or []:
            if isinstance(i, dict) and i.get("type") in (
                "function_call_output",
                "custom_tool_call_output",
                "local_shell_call_output",
            ):
                results.append(flat(i.get("output")))
        tools = tool_list(b)
        if tools:
            self.model.note(results)
        a = self.model.next(len(results), tools)
        rid = "resp_%d" % int(time.time() * 1e6)
        if a[0] == "text":
            item = {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": a[1], "annotations": []}],
            }
        elif a[4] == "custom":
            item = {
                "type": "custom_tool_call",
                "id": "ctc_" + a[1],
                "status": "completed",
                "call_id": a[1],
                "name": a[2],
                "input": a[3] if isinstance(a[3], str) else json.dumps(a[3]),
            }
        else:
            item = {
                "type": "function_call",
                "id": "fc_" + a[1],
                "status": "completed",
                "call_id": a[1],
                "name": a[2],
                "arguments": json.dumps(a[3]),
            }
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        }
        resp = {
            "id": rid,
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": b.get("model", "fake"),
            "output": [item],
            "usage": usage,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "temperature": 1,
            "top_p": 1,
        }
        if not b.get("stream"):
            return self.json(resp)
        started = {**resp, "status": "in_progress", "output": [], "usage": None}
        seq = [("response.created", {"response": started}), ("response.in_progress", {"response": started})]
        if item["type"] == "message":
            seq += [
                (
                    "response.output_item.added",
                    {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}},
                ),
                (
                    "response.content_part.added",
                    {
                        "item_id": item["id"],
                        "output_index": 0,
                        "content_index": 0,
                        "part": {"type": "output_text", "text": "", "annotations": []},
                    },
                ),
                (
                    "response.output_text.delta",
                    {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": a[1]},
                ),
                (
                    "response.output_text.done",
                    {"item_id": item["id"], "output_index": 0, "content_index": 0, "text": a[1]},
                ),
                (
                    "response.content_part.done",
                    {"item_id": item["id"], "output_index": 0, "content_index": 0, "part": item["content"][0]},
                ),
            ]
        elif item["type"] == "function_call":
            seq += [
                (
                    "response.output_item.added",
                    {"output_index": 0, "item": {**item, "status": "in_progress", "arguments": ""}},
                ),
                (
                    "response.function_call_arguments.delta",
                    {"item_id": item["id"], "output_index": 0, "delta": item["arguments"]},
                ),
                (
                    "response.function_call_arguments.done",
                    {"item_id": item["id"], "output_index": 0, "arguments": item["arguments"]},
                ),
            ]
        else:
            seq += [
                (
                    "response.output_item.added",
                    {"output_index": 0, "item": {**item, "status": "in_progress", "input": ""}},
                )
            ]
        seq += [
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": resp}),
        ]
        self.sse([(n, {"type": n, "sequence_number": k, **v}) for k, (n, v) in enumerate(seq)])

    # ---- OpenAI Chat Completions
    def chat(self, b):
        results = [flat(m.get("content")) for m in b.get("messages", []) if m.get("role") == "tool"]
        tools = tool_list(b)
        if tools:
            self.model.note(results)
        a = self.model.next(len(results), tools)
        cid = "chatcmpl-%d" % int(time.time() * 1e6)
        base = {"id": cid, "created": int(time.time()), "model": b.get("model", "fake")}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if a[0] == "text":
            msg, why = {"role": "assistant", "content": a[1]}, "stop"
        else:
            arguments = a[3] if isinstance(a[3], str) else json.dumps(a[3])
            msg, why = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": a[1], "type": "function", "function": {"name": a[2], "arguments": arguments}}],
            }, "tool_calls"
        if not b.get("stream"):
            return self.json(
                {
                    **base,
                    "object": "chat.completion",
                    "choices": [{"index": 0, "message": msg, "finish_reason": why, "logprobs": None}],
                    "usage": usage,
                }
            )
        delta = dict(msg)
        if a[0] != "text":
            delta["tool_calls"] = [{"index": 0, **msg["tool_calls"][0]}]
        chunk = {**base, "object": "chat.completion.chunk"}
        self.sse(
            [
                (None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
                (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]}),
                (None, {**chunk, "choices": [], "usage": usage}),
                (None, "[DONE]"),
            ]
        )

    # ---- Gemini
    def gemini(self, b, stream):
        results = []
        for c in b.get("contents", []):
            for part in c.get("parts") or []:
                if "functionResponse" in part:
                    results.append(flat(part["functionResponse"].get("response")))
        tools = tool_list(b)
        if tools:
            self.model.note(results)
        a = self.model.next(len(results), tools)
        if a[0] == "text":
            text = a[1]
            if (b.get("generationConfig") or {}).get("responseMimeType") == "application/json" or (
                b.get("generationConfig") or {}
            ).get("responseJsonSchema"):
                text = json.dumps(
                    {
                        "complexity_reasoning": "simple",
                        "complexity_score": 10,
                        "reasoning": "x",
                        "next_speaker": "user",
                        "model_choice": "flash",
                    }
                )
            part = {"text": text}
        else:
            part = {"functionCall": {"name": a[2], "args": a[3]}, "thoughtSignature": "c2tpcA=="}
        r = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "fake",
        }
        if stream:
            return self.sse([(None, r)])
        return self.json(r)


if __name__ == "__main__":
    m = Model(
        json.loads(sys.argv[2]) if len(sys.argv) > 2 else [{"run": "echo hi"}],
        int(sys.argv[1]) if len(sys.argv) > 1 else 8901,
        "/dev/stderr",
    )
    print(m.url)
    while True:
        time.sleep(3600)
