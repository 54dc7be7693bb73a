// guard judges each call of a tool before the agent (OpenCode 1.x, Kilo Code) carries it out.
// Whatever goes wrong on the way to a clear answer is a denial.
import { spawn } from "node:child_process";

const GUARD = "guard";
// Seconds for which guard may think, or wait for a person.
const WAITS = 600;

// @ASK@

// The only export: the agent calls each of them.
export const Guard = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { tool: input.tool, args: output.args, cwd: directory, session: input.sessionID };
    const answer = await ask(call);
    if (answer.decision === "none" || answer.decision === "allow") return;
    throw new Error(answer.reason || "guard: denied");
  },
});
