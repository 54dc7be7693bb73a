/**
 * Ask guard before a function runs. One file, no dependencies; Node 18 or later (or anything with its child_process and
 * fetch).
 *
 *     import { guarded, Refused } from "./guardClient.ts";
 *
 *     const deleteEvent = guarded("calendar.delete_event", async (input: { id: string }) => { … });
 *     await deleteEvent({ id: "7" });   // throws Refused if guard or a person denies the call
 *
 * guard judges the first argument, as the input of a tool. As a decorator of a method: `@guard("calendar.delete_event")`. If
 * guard asks a person, the call waits for the answer. The client reports the outcome of the function to guard's record. If
 * GUARD_GATEWAY (for example http://127.0.0.1:6180) and GUARD_TOKEN are set, the client uses the gateway's API; otherwise it
 * starts the program named by GUARD_BIN, or guard from PATH.
 */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

type Json = Record<string, any>;

export interface Options {
  server?: string;
  session?: string;
  /** How long the call may wait for a person, in seconds. */
  timeout?: number;
  cwd?: string;
}

/** The call must not run. `reason` is one line of text, for a model. */
export class Refused extends Error {
  reason: string;
  verdict: Json;
  constructor(reason: string, verdict: Json = {}) {
    super(reason);
    this.name = "Refused";
    this.reason = reason;
    this.verdict = verdict;
  }
}

/** An approval. The outcome of the call can be reported to it once. */
export interface Permit {
  verdict: Json;
  by?: string;
  ended(code: number): Promise<void>;
}

/** Waits until the call may run. Throws Refused. */
export async function ask(tool: string, input: unknown = {}, options: Options = {}): Promise<Permit> {
  const wanted: Json = { tool, input, cwd: options.cwd ?? process.cwd(), timeout_secs: options.timeout ?? 300 };
  if (options.server !== undefined) wanted.server = options.server;
  if (options.session !== undefined) wanted.session = options.session;
  try {
    const gateway = process.env.GUARD_GATEWAY;
    return await (gateway ? overHttp(gateway.replace(/\/+$/, ""), wanted) : byProgram(wanted));
  } catch (error) {
    // Whatever goes wrong means no.
    throw error instanceof Refused ? error : new Refused(`guard could not be asked: ${(error as Error).message}`);
  }
}

/** Wraps a function: guard judges each call as a call of this tool. */
export function guarded<A extends unknown[], R>(
  tool: string,
  run: (...args: A) => R | Promise<R>,
  options: Options = {},
): (...args: A) => Promise<R> {
  return async function (this: unknown, ...args: A): Promise<R> {
    const permit = await ask(tool, args.length === 1 && isObject(args[0]) ? args[0] : { arguments: args }, options);
    try {
      const result = await run.apply(this, args);
      await permit.ended(0);
      return result;
    } catch (error) {
      await permit.ended(1);
      throw error;
    }
  };
}

/** A decorator for methods. */
export function guard(tool: string, options: Options = {}) {
  return <A extends unknown[], R>(method: (...args: A) => R | Promise<R>) => guarded(tool, method, options);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function permit(told: Json, report: (ended: Json) => Promise<void>): Permit {
  const begun = Date.now();
  let reported = false;
  return {
    verdict: told.verdict ?? {},
    by: told.by,
    async ended(code: number) {
      if (reported) return;
      reported = true;
      // What ran has run: a record that cannot be written is no reason to fail afterwards.
      await report({ exit: code, duration_ms: Date.now() - begun }).catch(() => {});
    },
  };
}

async function byProgram(wanted: Json): Promise<Permit> {
  const child = spawn(process.env.GUARD_BIN ?? "guard", ["submit"], { stdio: ["pipe", "pipe", "pipe"] });
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  failed.catch(() => {});
  const closed = new Promise<void>((done) => child.once("close", () => done()));
  child.stdin.on("error", () => {});
  let said = "";
  child.stderr.on("data", (part) => (said += part));
  child.stdin.write(JSON.stringify({ ...wanted, client: process.env.GUARD_CLIENT ?? "node", report: true }) + "\n");
  const answer = (async (): Promise<Permit> => {
    for await (const line of createInterface({ input: child.stdout })) {
      const told: Json = JSON.parse(line);
      if (told.status === "waiting") continue;
      if (told.status !== "allow") throw new Refused(told.reason ?? "refused", told.verdict);
      return permit(told, async (ended) => {
        child.stdin.write(JSON.stringify(ended) + "\n");
        await closed;
      });
    }
    await closed;
    throw new Refused(said.trim() || "guard ended without an answer");
  })();
  try {
    return await Promise.race([answer, failed]);
  } catch (error) {
    // The end of its input tells guard that nobody waits any more.
    child.stdin.end();
    throw error;
  }
}

async function overHttp(gateway: string, wanted: Json): Promise<Permit> {
  const send = async (method: string, path: string, body?: Json): Promise<Json> => {
    const answer = await fetch(gateway + path, {
      method,
      headers: { authorization: `Bearer ${process.env.GUARD_TOKEN ?? ""}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    const told: Json = text ? JSON.parse(text) : {};
    if (!answer.ok) throw new Refused(told.detail ?? told.title ?? `the gateway says ${answer.status}`);
    return told;
  };
  let told = await send("POST", "/v1/requests", wanted);
  const action = told.action_id;
  try {
    while (told.decision === undefined) told = await send("GET", `/v1/requests/${action}?wait=25`);
  } catch (error) {
    // Nobody waits for it any more: no person should be asked in vain.
    await send("DELETE", `/v1/requests/${action}`).catch(() => {});
    throw error;
  }
  if (told.decision !== "allow") throw new Refused(told.reason ?? "refused", told.verdict);
  const token = told.token;
  return permit(told, async (ended) => {
    await send("POST", `/v1/requests/${action}/result`, { token, ...ended });
  });
}
