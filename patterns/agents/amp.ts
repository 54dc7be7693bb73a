// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// guard judges each call of a tool before Amp carries it out.
// Whatever goes wrong on the way to a clear answer is a denial.
import { spawn } from "node:child_process";

const GUARD = "guard";
// Seconds for which guard may think, or wait for a person.
const WAITS = 600;

// @ASK@

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
    const call =
      typeof command === "string" ? { tool: "bash", args: { command }, cwd } : { tool, args: input, cwd };
    const answer = await ask({ ...call, session: event.thread?.id ?? event.threadID });
    if (answer.decision === "none" || answer.decision === "allow") return { action: "allow" };
    return { action: "reject-and-continue", message: answer.reason || "guard: denied" };
  });
}
