"""Ask guard before a function runs. One file, no dependencies; Python 3.9 or later.

    from guard_client import guarded, Refused

    @guarded("calendar.delete_event")
    def delete_event(calendar, id): ...

    delete_event("work", id="7")   # raises Refused if guard or a person denies the call

guard judges the arguments by their names, as the input of a tool. If guard asks a person, the call waits for the answer. The client
reports the outcome of the function to guard's record. If GUARD_GATEWAY (for example http://127.0.0.1:6180) and GUARD_TOKEN are set,
the client uses the gateway's API; otherwise it starts the program named by GUARD_BIN, or guard from PATH.
"""

import asyncio
import functools
import inspect
import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

__all__ = ["Refused", "ask", "guarded"]


class Refused(Exception):
    """The call must not run. `reason` is one line of text, for a model."""

    def __init__(self, reason, verdict=None):
        super().__init__(reason)
        self.reason = reason
        self.verdict = verdict or {}


class _Permit:
    """An approval. The outcome of the call can be reported to it once."""

    def __init__(self, told, report):
        self.verdict = told.get("verdict") or {}
        self.by = told.get("by")
        self._report = report
        self._begun = time.monotonic()

    def ended(self, code):
        report, self._report = self._report, None
        if report is not None:
            # What ran has run: a record that cannot be written is no reason to fail afterwards.
            try:
                report({"exit": code, "duration_ms": int((time.monotonic() - self._begun) * 1000)})
            except (OSError, ValueError, subprocess.SubprocessError, Refused):
                pass


def ask(tool, arguments=None, *, server=None, session=None, timeout=300, cwd=None):
    """Waits until the call may run and returns a permit; call its `ended(exit_code)` afterwards. Raises Refused."""
    wanted = {"tool": tool, "input": arguments or {}, "cwd": cwd or os.getcwd(), "timeout_secs": int(timeout)}
    for name, value in (("server", server), ("session", session)):
        if value is not None:
            wanted[name] = value
    try:
        gateway = os.environ.get("GUARD_GATEWAY")
        return _over_http(gateway.rstrip("/"), wanted) if gateway else _by_program(wanted)
    except (OSError, ValueError, KeyError, TypeError) as error:
        # Whatever goes wrong means no.
        raise Refused(f"guard could not be asked: {error}") from error


def guarded(tool, *, server=None, session=None, timeout=300):
    """A decorator for functions and coroutines: guard judges each call as a call of this tool."""

    def decorate(function):
        signature = inspect.signature(function)

        def permit(args, kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = {name: value for name, value in bound.arguments.items() if name not in ("self", "cls")}
            return ask(tool, _plain(given), server=server, session=session, timeout=timeout)

        @functools.wraps(function)
        def call(*args, **kwargs):
            allowed = permit(args, kwargs)
            try:
                result = function(*args, **kwargs)
            except BaseException:
                allowed.ended(1)
                raise
            allowed.ended(0)
            return result

        @functools.wraps(function)
        async def call_async(*args, **kwargs):
            allowed = await asyncio.to_thread(permit, args, kwargs)
            try:
                result = await function(*args, **kwargs)
            except BaseException:
                allowed.ended(1)
                raise
            allowed.ended(0)
            return result

        return call_async if inspect.iscoroutinefunction(function) else call

    return decorate


def _plain(value):
    """Returns a value that JSON can represent unchanged, and any other value as its Python representation."""
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(element) for element in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return repr(value)


def _by_program(wanted):
    wanted = {**wanted, "client": os.environ.get("GUARD_CLIENT", "python"), "report": True}
    guard = os.environ.get("GUARD_BIN", "guard")
    # A pipe that nobody reads would stop guard once it is full.
    errors = tempfile.TemporaryFile()
    try:
        process = subprocess.Popen([guard, "submit"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    except BaseException:
        errors.close()
        raise
    try:
        process.stdin.write((json.dumps(wanted) + "\n").encode())
        process.stdin.flush()
        for line in process.stdout:
            told = json.loads(line)
            if told["status"] == "waiting":
                continue
            if told["status"] != "allow":
                raise Refused(told.get("reason") or "refused", told.get("verdict"))

            def report(ended):
                try:
                    process.stdin.write((json.dumps(ended) + "\n").encode())
                    process.stdin.flush()
                    process.wait(timeout=10)
                finally:
                    _close(process, errors)

            return _Permit(told, report)
        process.wait()
        errors.seek(0)
        said = errors.read(8192).decode(errors="replace").strip()
        raise Refused(said or "guard ended without an answer")
    except BaseException:
        # The end of its input tells guard that nobody waits any more.
        _close(process, errors)
        raise


def _close(process, errors):
    for pipe in (process.stdin, process.stdout, errors):
        try:
            pipe.close()
        except OSError:
            pass
    process.wait()


def _over_http(gateway, wanted):
    token = os.environ["GUARD_TOKEN"]

    def send(method, path, body=None, wait=30):
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        request = urllib.request.Request(gateway + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=wait) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read() or b"{}")
            raise Refused(problem.get("detail") or problem.get("title") or f"the gateway says {error.code}") from error
        return json.loads(text) if text else {}

    told = send("POST", "/v1/requests", wanted)
    action = told["action_id"]
    try:
        while "decision" not in told:
            told = send("GET", f"/v1/requests/{action}?wait=25", wait=40)
    except BaseException:
        # Nobody waits for it any more: no person should be asked in vain.
        try:
            send("DELETE", f"/v1/requests/{action}", wait=5)
        except (OSError, ValueError, Refused):
            pass
        raise
    if told["decision"] != "allow":
        raise Refused(told.get("reason") or "refused", told.get("verdict"))
    once = told["token"]
    return _Permit(told, lambda ended: send("POST", f"/v1/requests/{action}/result", {"token": once, **ended}))
