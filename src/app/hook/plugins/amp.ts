// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// guard judges each command and each change of a file before Amp carries it out.
// Whatever goes wrong on the way to a clear answer is a denial.
import { spawn } from "node:child_process";

const GUARD = "guard";
// Seconds for which guard may think, or wait for a person.
const WAITS = 600;
const JUDGED = new Set(["create_file", "edit_file", "undo_edit", "apply_patch"]);

function ask(call) {
  return new Promise((resolve) => {
    let said = "";
    let errors = "";
    let timer;
    const end = (answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    const deny = (reason) => end({ decision: "deny", reason: `guard: ${reason}` });
    try {
      const input = JSON.stringify(call);
      const child = spawn(GUARD, ["hook", "--agent", "amp", "--timeout", String(WAITS)]);
      timer = setTimeout(() => {
        child.kill("SIGKILL");
        deny("it did not answer in time");
      }, WAITS * 1000);
      child.on("error", (error) => deny(`it could not be started: ${error.message}`));
      child.stdin.on("error", () => {});
      child.stdout.on("data", (chunk) => (said += chunk));
      child.stderr.on("data", (chunk) => (errors += chunk));
      child.on("close", (code) => {
        if (code !== 0) return deny(errors.trim() || `it ended with ${code}`);
        let answer;
        try {
          answer = JSON.parse(said);
        } catch {
          return deny("its answer cannot be read");
        }
        const known = ["none", "allow", "ask", "deny"].includes(answer?.decision);
        return known ? end(answer) : deny("its answer holds no decision");
      });
      child.stdin.end(input);
    } catch (error) {
      deny(`it could not be asked: ${error.message}`);
    }
  });
}

export default function (amp) {
  amp.on("tool.call", async (event) => {
    const tool = event.tool ?? event.name ?? event.toolName;
    const input = event.input ?? event.args ?? {};
    const shell = amp.helpers.shellCommandFromToolCall(event);
    const command = typeof shell === "string" ? shell : shell?.command;
    const cwd = shell?.dir ?? shell?.cwd ?? input.cwd ?? process.cwd();
    if (shell && typeof command !== "string") {
      return { action: "reject-and-continue", message: "guard: the command cannot be read" };
    }
    if (typeof command !== "string" && !JUDGED.has(tool)) return { action: "allow" };
    const call =
      typeof command === "string" ? { tool: "bash", args: { command }, cwd } : { tool, args: input, cwd };
    const answer = await ask({ ...call, session: event.thread?.id ?? event.threadID });
    if (answer.decision === "none" || answer.decision === "allow") return { action: "allow" };
    return { action: "reject-and-continue", message: answer.reason || "guard: denied" };
  });
}
