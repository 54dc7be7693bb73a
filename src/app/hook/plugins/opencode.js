// guard judges each command and each change of a file before OpenCode (1.x) carries it out.
// Whatever goes wrong on the way to a clear answer is a denial.
import { spawn } from "node:child_process";

const GUARD = "guard";
// Seconds for which guard may think, or wait for a person.
const WAITS = 600;
const JUDGED = new Set(["bash", "write", "edit", "multiedit", "patch", "apply_patch"]);

// @ASK@

// The only export: OpenCode calls each of them.
export const Guard = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    if (!JUDGED.has(input.tool)) return;
    const call = { tool: input.tool, args: output.args, cwd: directory, session: input.sessionID };
    const answer = await ask(call);
    if (answer.decision === "none" || answer.decision === "allow") return;
    throw new Error(answer.reason || "guard: denied");
  },
});
