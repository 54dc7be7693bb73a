#!/usr/bin/env python3
"""One scratch home, project and remote for each agent, and how each is pointed at the stand-in for its model."""

import json, os, pty, re, select, shutil, signal, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model import Model

TOP = os.environ["AGENTS_TOP"]
GUARD_DIR = os.environ.get("GUARD_DIR", TOP + "/bin")
PATHS = [GUARD_DIR, TOP + "/npm3/bin", TOP + "/npm2/bin", TOP + "/npm/bin", TOP + "/hermes/bin", TOP + "/aider/bin", TOP + "/mini/bin", TOP + "/openhands/bin", "/usr/local/bin", "/usr/bin", "/bin"]


def sh(cmd, **k):
    return subprocess.run(
        ["/bin/bash", "-c", cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **k
    )


def in_pty(argv, env, cwd, script=(), timeout=60, settle=0.3, rows=50, cols=160):
    """Runs argv on a terminal of its own. script: [(regex, bytes to send, delay)], in order. -> (exit code or None, what was shown)"""
    pid, fd = pty.fork()
    if pid == 0:
        try:
            import fcntl, struct, termios

            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)
        except BaseException as e:
            os.write(2, str(e).encode())
            os._exit(127)
    shown, script, end, mark = b"", list(script), time.time() + timeout, 0
    code = None
    while time.time() < end:
        r, _, _ = select.select([fd], [], [], 0.1)
        if r:
            try:
                d = os.read(fd, 65536)
            except OSError:
                break
            if not d:
                break
            shown += d
            # answer what terminals are asked
            if b"\x1b[6n" in d:
                os.write(fd, b"\x1b[1;1R")
            if b"\x1b[c" in d:
                os.write(fd, b"\x1b[?62;22c")
        if script:
            m = re.search(script[0][0].encode(), shown[mark:], re.S)
            if m:
                mark = len(shown)
                time.sleep(script[0][2] if len(script[0]) > 2 else settle)
                what = script.pop(0)[1]
                what = what(shown) if callable(what) else what
                if what:
                    os.write(fd, what)
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
        for _ in range(20):
            if done:
                break
            time.sleep(0.1)
            done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            os.kill(pid, signal.SIGHUP)
            time.sleep(0.3)
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                pass
            os.waitpid(pid, 0)
        else:
            code = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass
    os.close(fd)
    return code, re.sub(rb"\x1b\][^\x07]*\x07|\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]|\r", b"", shown).decode(
        errors="replace"
    )


class Lab:
    """One agent, one home, one project."""

    def __init__(self, agent, tag="", fresh=True):
        self.agent, self.spec = agent, AGENTS[agent]
        self.root = "%s/run/%s%s" % (TOP, agent, tag)
        if fresh and os.path.exists(self.root):
            shutil.rmtree(self.root, ignore_errors=True)
        self.home, self.proj, self.tmp = self.root + "/home", self.root + "/proj", self.root + "/tmp"
        os.makedirs(self.home, exist_ok=True)
        os.makedirs(self.tmp, exist_ok=True)
        os.makedirs(self.root + "/xdg", mode=0o700, exist_ok=True)
        self.shims = self.home + "/.local/share/guard/shims"
        self.extra = {}
        self.path = list(PATHS)
        if fresh:
            self.project()
        self.env = self.environment()
        self.spec.setup(self) if fresh else None

    def environment(self):
        e = {
            "HOME": self.home,
            "PATH": ":".join(self.path),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "USER": "root",
            "LOGNAME": "root",
            "SHELL": "/bin/bash",
            "TMPDIR": self.tmp,
            "XDG_RUNTIME_DIR": self.root + "/xdg",
            "NO_COLOR": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "CI": "",
        }
        e.pop("CI")
        e.update(self.extra)
        return e

    def project(self):
        r = sh(
            """set -e
git config --global user.name t; git config --global user.email t@t; git config --global init.defaultBranch main; git config --global advice.detachedHead false
git init -q --bare %(r)s/remote.git
mkdir -p %(r)s/proj/src; cd %(r)s/proj; git init -q
echo 'print(1)' > src/a.py; echo 'fn' > src/b.rs; printf 'all:\\n\\techo made\\n' > Makefile; echo x > README.md
git add -A; git commit -qm one; git remote add origin %(r)s/remote.git; git push -q -u origin main
echo 2 > src/a.py; git commit -qam two; git push -q
git checkout -q -b other HEAD~1; git checkout -q main
""" % {"r": self.root},
            env={"HOME": self.home, "PATH": "/usr/bin:/bin"},
        )
        assert r.returncode == 0, r.stdout

    def guard(self, *args, tty=False, script=(), timeout=60, env=None):
        e = dict(self.env, **(env or {}))
        if tty:
            return in_pty([GUARD_DIR + "/guard", *args], e, self.proj, script, timeout)
        p = subprocess.run(
            [GUARD_DIR + "/guard", *args],
            env=e,
            cwd=self.proj,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
        return p.returncode, p.stdout

    def install(self, *more):
        if self.spec.by_shell:
            return self.guard("install", "shims", "--yes", *more, tty=True, timeout=15)
        r = self.guard(
            "install",
            self.spec.guard_name or self.agent,
            *more,
            tty=True,
            script=[(r"\[y/N\]|\(y/n\)|y/N|\?\s*$", b"y\n")],
            timeout=15
        )
        return r

    def open_door(self):
        """Puts guard in the place of the agent's shell. -> the variables that do it"""
        return self.spec.door(self) if self.spec.door else {}

    def go(self, steps, timeout=90, env=None, tty=False, more=(), during=None, script=()):
        """Lets the agent do steps. -> dict(results=what its model was told, out=what it printed, wall=seconds, code=…, pairs=…)"""
        log = "%s/model-%d.jsonl" % (self.root, int(time.time() * 1000))
        model = Model(self.spec.steps(steps), log=log)
        e = self.environment()
        e.update(self.spec.env(self, model))
        e.update(env or {})
        self.spec.before(self, model)
        argv = self.spec.argv(self, model) + list(more)
        t = time.time()
        timed = False
        if tty or self.spec.answers:
            if during:
                threading.Thread(target=during, args=(self, model, None), daemon=True).start()
            code, out = in_pty(argv, e, self.proj, list(script) + self.spec.answers, timeout)
        else:
            p = subprocess.Popen(
                argv,
                env=e,
                cwd=self.proj,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            if during:
                threading.Thread(target=during, args=(self, model, p), daemon=True).start()
            try:
                out, _ = p.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                timed = True
                try:
                    os.killpg(p.pid, signal.SIGKILL)
                except OSError:
                    pass
                try:
                    out, _ = p.communicate(timeout=5)
                except subprocess.TimeoutExpired:
                    out = "(still held open)"
            code = p.returncode
        wall = time.time() - t
        model.close()
        spans, last = [], None
        for kind, at in model.times:
            if kind == "call":
                last = at
            elif last is not None:
                spans.append(round((at - last) * 1000))
                last = None
        return {
            "results": model.results,
            "out": out,
            "wall": round(wall, 2),
            "code": code,
            "spans": spans,
            "timed": timed,
            "log": log,
            "requests": model.requests,
        }


class Spec:
    guard_name = None
    program = None
    # How guard comes in front of its shell: a function of the lab that gives variables.
    door = None
    # It has no hook: guard stands in for its shell alone.
    by_shell = False
    # What a person at its terminal answers it, again and again.
    answers = []

    def steps(self, steps):
        return steps

    def setup(self, lab):
        pass

    def before(self, lab, model):
        pass

    def env(self, lab, model):
        return {}

    def argv(self, lab, model):
        raise NotImplementedError


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)


class Claude(Spec):
    config = ".claude/settings.json"
    permission = "default"

    def setup(self, lab):
        put(
            lab.home + "/.claude.json",
            json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "numStartups": 5,
                    "projects": {
                        lab.proj: {
                            "hasTrustDialogAccepted": True,
                            "hasCompletedProjectOnboarding": True,
                            "allowedTools": [],
                        }
                    },
                    "customApiKeyResponses": {"approved": ["sk-ant-fakefakefakefakefake"[-20:]], "rejected": []},
                    "bypassPermissionsModeAccepted": True,
                }
            ),
        )

    def env(self, lab, model):
        return {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-fakefakefakefakefake",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }

    def argv(self, lab, model):
        return [
            "claude",
            "-p",
            "do it",
            "--permission-mode",
            self.permission,
            "--allowedTools",
            "Bash,Write,Edit,Monitor,BashOutput,TaskOutput",
        ]


class ClaudeBypass(Claude):
    permission = "bypassPermissions"

    def door(self, lab):
        put(lab.home + "/.claude/settings.json", json.dumps({"env": {"CLAUDE_CODE_SHELL": lab.shims + "/bash"}}) + "\n")
        return {}


class Codex(Spec):
    config = ".codex/hooks.json"
    trust = True

    def before(self, lab, model):
        path = lab.home + "/.codex/config.toml"
        old = open(path).read() if os.path.exists(path) else ""
        old = re.sub(r"(?s)# fake begin.*?# fake end\n", "", old)
        head = '# fake begin\nmodel = "%s"\nmodel_provider = "fake"\n# fake end\n' % os.environ.get(
            "CODEX_MODEL", "gpt-5.2-codex"
        )
        tail = (
            '# fake begin\n[model_providers.fake]\nname = "fake"\nbase_url = "%s/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\nsupports_websockets = false\n# fake end\n'
            % model.url
        )
        put(path, head + old.rstrip("\n") + ("\n" if old.strip() else "") + tail)

    def env(self, lab, model):
        return {"FAKE_KEY": "x"}

    def argv(self, lab, model):
        return (
            ["codex", "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"]
            + (["--dangerously-bypass-hook-trust"] if self.trust else [])
            + ["do it"]
        )


class Gemini(Spec):
    config = ".gemini/settings.json"

    def setup(self, lab):
        put(lab.home + "/.gemini/trustedFolders.json", json.dumps({lab.proj: "TRUST_FOLDER"}))
        put(
            lab.home + "/.gemini/settings.json",
            json.dumps(
                {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": False},
                    "general": {"disableAutoUpdate": True},
                },
                indent=2,
            )
            + "\n",
        )

    def env(self, lab, model):
        return {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def argv(self, lab, model):
        return ["gemini", "-m", "gemini-2.5-flash", "--yolo", "-p", "do it"]

    def door(self, lab):
        return {"PATH": lab.shims + ":" + lab.env["PATH"]}


class Qwen(Spec):
    config = ".qwen/settings.json"

    def setup(self, lab):
        put(
            lab.home + "/.qwen/settings.json",
            json.dumps(
                {
                    "security": {"auth": {"selectedType": "openai"}},
                    "privacy": {"usageStatisticsEnabled": False},
                    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
                },
                indent=2,
            )
            + "\n",
        )

    def env(self, lab, model):
        return {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": model.url + "/v1", "OPENAI_MODEL": "fake"}

    def argv(self, lab, model):
        return ["qwen", "--yolo", "-p", "do it"]


class OpenCode(Spec):
    config = ".config/opencode/plugin/guard.js"
    settings = ".config/opencode/opencode.json"
    program = "opencode"

    def before(self, lab, model):
        path = lab.home + "/" + self.settings
        old = json.loads(open(path).read()) if os.path.exists(path) else {}
        old.update(
            {
                "$schema": "https://opencode.ai/config.json",
                "autoupdate": False,
                "share": "disabled",
                "model": "fake/fake",
                "small_model": "fake/fake",
                "permission": {"*": "allow", "external_directory": "allow"},
                "provider": {
                    "fake": {
                        "npm": "@ai-sdk/openai-compatible",
                        "name": "fake",
                        "options": {"baseURL": model.url + "/v1", "apiKey": "x"},
                        "models": {
                            "fake": {"name": "fake", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
                        },
                    }
                },
            }
        )
        put(path, json.dumps(old, indent=2))

    def env(self, lab, model):
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def argv(self, lab, model):
        return [self.program, "run", "-m", "fake/fake", "do it"]


class Kilo(OpenCode):
    config = ".config/kilo/plugin/guard.js"
    settings = ".config/kilo/kilo.json"
    program = "kilo"

    def env(self, lab, model):
        return {name.replace("OPENCODE", "KILO"): value for name, value in super().env(lab, model).items()}

    def argv(self, lab, model):
        return ["kilo", "run", "--auto", "-m", "fake/fake", "do it"]


class Copilot(Spec):
    config = ".copilot/hooks/guard.json"

    def env(self, lab, model):
        return {
            "COPILOT_PROVIDER_BASE_URL": model.url + "/v1",
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": "fake",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def argv(self, lab, model):
        return ["copilot", "-p", "do it", "--allow-all-tools", "--allow-all-paths"]


class Cline(Spec):
    config = ".cline/hooks/PreToolUse"

    def before(self, lab, model):
        sh("cline auth -p openai -k x -m fake -b %s/v1" % model.url, env=lab.environment(), cwd=lab.proj, timeout=60)

    def argv(self, lab, model):
        return ["cline", "--auto-approve", "true", "--json", "-P", "openai-compatible", "-m", "fake", "do it"]


class Droid(Spec):
    config = ".factory/settings.json"

    def before(self, lab, model):
        path = lab.home + "/.factory/settings.json"
        old = json.loads(open(path).read()) if os.path.exists(path) else {}
        old["customModels"] = [
            {
                "model": "fake",
                "displayName": "fake",
                "baseUrl": model.url + "/v1",
                "apiKey": "x",
                "provider": "generic-chat-completion-api",
                "maxOutputTokens": 8000,
            }
        ]
        put(path, json.dumps(old, indent=2))

    def env(self, lab, model):
        return {"FACTORY_API_KEY": "fk-fake", "DROID_DISABLE_AUTO_UPDATE": "1", "FACTORY_API_BASE_URL": model.url}

    def argv(self, lab, model):
        return ["droid", "exec", "--auto", "high", "-m", "custom:fake", "do it"]


class Kimi(Spec):
    config = ".kimi-code/config.toml"
    folder = ".kimi-code"

    def before(self, lab, model):
        path = lab.home + "/%s/config.toml" % self.folder
        old = open(path).read() if os.path.exists(path) else ""
        old = re.sub(r"(?s)# fake begin.*?# fake end\n", "", old)
        head = '# fake begin\ndefault_model = "fake"\ntelemetry = false\n# fake end\n'
        tail = (
            '# fake begin\n[providers.fake]\ntype = "openai"\nbase_url = "%s/v1"\napi_key = "x"\n[models.fake]\nprovider = "fake"\nmodel = "fake"\nmax_context_size = 200000\n# fake end\n'
            % model.url
        )
        put(path, head + old.rstrip("\n") + ("\n" if old.strip() else "") + tail)

    def argv(self, lab, model):
        return ["kimi", "-p", "do it"]


class Grok(Spec):
    config = ".grok/hooks/guard.json"

    def before(self, lab, model):
        put(
            lab.home + "/.grok/config.toml",
            '[cli]\nauto_update = false\n[models]\ndefault = "fake"\n[model.fake]\nmodel = "fake"\nname = "fake"\nbase_url = "%s/v1"\napi_key = "x"\ncontext_window = 200000\napi_backend = "chat_completions"\n'
            % model.url,
        )

    def env(self, lab, model):
        return {"XAI_API_KEY": "xai-fake", "GROK_DISABLE_AUTO_UPDATE": "1"}

    def argv(self, lab, model):
        return ["grok", "--always-approve", "-m", "fake", "-p", "do it"]


class Goose(Spec):
    config = ".agents/plugins/guard/hooks/hooks.json"

    def env(self, lab, model):
        return {
            "GOOSE_PROVIDER": "openai",
            "OPENAI_HOST": model.url,
            "OPENAI_API_KEY": "x",
            "GOOSE_MODEL": "fake",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_ENABLED": "false",
        }

    def argv(self, lab, model):
        return ["goose", "run", "--no-session", "--with-builtin", "developer", "-t", "do it"]

    def door(self, lab):
        return {"GOOSE_SHELL": lab.shims + "/bash"}


class Hermes(Spec):
    config = ".hermes/config.yaml"

    def before(self, lab, model):
        path = lab.home + "/.hermes/config.yaml"
        old = open(path).read() if os.path.exists(path) else ""
        old = re.sub(r"(?s)# fake begin.*?# fake end\n", "", old)
        put(
            path,
            "# fake begin\nmodel:\n  default: fake\n  provider: custom\n  base_url: %s/v1\n  api_key: x\n  context_length: 200000\n# fake end\n"
            % model.url
            + old,
        )

    def env(self, lab, model):
        return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": model.url + "/v1", "HERMES_ACCEPT_HOOKS": "1"}

    def argv(self, lab, model):
        return ["hermes", "chat", "--yolo", "-Q", "-q", "do it"]

    def door(self, lab):
        return {"PATH": lab.shims + ":" + lab.env["PATH"]}


class Aider(Spec):
    """It has no tools: it finds commands in what its model says, and asks whoever sits at its terminal."""

    config = ".aider.none"
    by_shell = True
    answers = [(r"Run shell commands?\?.*Yes\]:", b"y\n"), (r"Add command output.*Yes\]:", b"n\n")] * 4

    def steps(self, steps):
        block = "Run this:\n```bash\n%s\n```\n"
        return [{"say": "".join(block % step["run"] for step in steps)}]

    def env(self, lab, model):
        return {"OPENAI_API_BASE": model.url + "/v1", "OPENAI_API_KEY": "x"}

    def argv(self, lab, model):
        plain = "show-model-warnings check-update analytics gitignore show-release-notes stream pretty"
        switches = ["--no-" + name for name in plain.split()]
        return ["aider", "--model", "openai/fake", "--edit-format", "diff", "--map-tokens", "0", *switches, "--message", "do it"]

    def door(self, lab):
        return {"SHELL": lab.shims + "/script/bash"}


class MiniSweAgent(Spec):
    """Its one tool is a command, and a class that it loads runs it."""

    config = ".mini-swe-agent.none"
    by_shell = True

    def steps(self, steps):
        return steps + [{"run": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}]

    def env(self, lab, model):
        return {
            "OPENAI_API_BASE": model.url + "/v1",
            "OPENAI_API_KEY": "x",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def argv(self, lab, model):
        # Guard's class is there from when it is installed.
        own = ["--environment-class", "guard_shell.Environment"] if os.path.exists(lab.shims) else []
        specs = ["mini.yaml", "agent.step_limit=20", "environment.timeout=60"]
        more = [word for spec in specs for word in ("--config", spec)]
        return ["mini-swe-agent", "--yolo", "--exit-immediately", "--agent-class", "default", "--model", "openai/fake", "--task", "do it"] + own + more

    def door(self, lab):
        return {"PYTHONPATH": lab.shims + "/script"}


class OpenHands(Spec):
    config = ".openhands/hooks.json"

    def env(self, lab, model):
        return {
            "LLM_API_KEY": "x",
            "LLM_BASE_URL": model.url + "/v1",
            "LLM_MODEL": "openai/fake",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENHANDS_SUPPRESS_BANNER": "1",
        }

    def argv(self, lab, model):
        return ["openhands", "--headless", "--json", "--override-with-envs", "-t", "do it"]


AGENTS = {
    "aider": Aider(),
    "claude": ClaudeBypass(),
    "codex": Codex(),
    "gemini": Gemini(),
    "qwen": Qwen(),
    "opencode": OpenCode(),
    "openhands": OpenHands(),
    "kilo": Kilo(),
    "copilot": Copilot(),
    "cline": Cline(),
    "droid": Droid(),
    "kimi": Kimi(),
    "grok": Grok(),
    "goose": Goose(),
    "hermes": Hermes(),
    "mini-swe-agent": MiniSweAgent(),
}

if __name__ == "__main__":
    lab = Lab(sys.argv[1], "-probe")
    r = lab.go([{"run": c} for c in (sys.argv[2:] or ["echo hello; pwd"])], timeout=75)
    print(json.dumps({k: v for k, v in r.items() if k != "out"}, indent=1)[:3000])
    print(r["out"][-2500:])
