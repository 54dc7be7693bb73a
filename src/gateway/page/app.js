// The page: gets all that it shows from the API, and listens to its events. It stores nothing.
import { card, effects, past, row, story } from "/cards.js";
import { figures, sessions } from "/figures.js";
import { notifier } from "/notify.js";
import { make, sign, unable } from "/passkey.js";

const $ = (id) => document.getElementById(id);
let replies = [];
let bars = new Map();
let signs = new Set();
let grants = new Set();
let offers = new Map();
let selected = new Set();
let waiting = [];
let stream = null;
let next = null;
let again_at;
const AGAIN_MS = 2000;
const LOOK_MS = 30000;
const ANSWER_MS = 15000;
const SILENT_MS = 2000;
// The number of connections that a browser opens to one host.
const CONNECTIONS = 6;
let lost = false;

/** Calls the API once. A GET has a time limit, because a connection that was lost silently never answers. */
async function call(method, path, body, signal = method === "GET" ? AbortSignal.timeout(ANSWER_MS) : undefined) {
  const response = await fetch(path, {
    method, credentials: "same-origin", signal,
    // With a cache, a browser would send identical requests one after the other.
    cache: "no-store",
    headers: { "x-guard": "1", ...(body ? { "content-type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  const value = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw Object.assign(new Error(value.detail ?? response.statusText), { status: response.status });
  return value;
}

/**
 * Reads a path, and repeats the request concurrently while it is not answered: a browser keeps using connections that
 * were lost silently, so the repetitions go over all of them, and then over a new one.
 */
function read(path) {
  const over = new AbortController();
  const limit = setTimeout(() => over.abort(new Error("no answer")), ANSWER_MS);
  let sent = 0;
  let failed = 0;
  return new Promise((answered, refused) => {
    const send = () => {
      sent += 1;
      // The event stream may occupy the last connection that the browser would open.
      if (sent > 1) { lost = true; stream?.close(); }
      call("GET", path, undefined, over.signal).then(answered, (error) => {
        failed += 1;
        if (error.status || failed === sent) refused(error);
      });
    };
    send();
    const more = setInterval(() => { if (sent < CONNECTIONS) send(); }, SILENT_MS);
    over.signal.addEventListener("abort", () => clearInterval(more));
  }).finally(() => {
    clearTimeout(limit);
    over.abort();
  });
}

let quiet;
function say(text) {
  $("said").textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => { $("said").textContent = ""; }, 6000);
}

const VIEWS = ["queue", "history", "sessions", "figures"];
let shown = "queue";
function show(name) {
  for (const view of [...VIEWS, "login", "story", "enrol"]) $(view).hidden = view !== name;
  for (const view of VIEWS) $(`show-${view}`).setAttribute("aria-pressed", String(view === name));
  $("views").hidden = name === "login" || name === "enrol";
  if (VIEWS.includes(name)) shown = name;
}

/** Shows a view and loads its contents. */
function visit(name) {
  show(name);
  const fill = { queue: refresh, history, sessions: drawSessions, figures: drawFigures }[name];
  Promise.resolve(fill()).catch((error) => { if (error.status === 401) login(); else say(error.message); });
}

async function drawSessions() {
  const decide = (verb) => async (session, words) => {
    try {
      say((await call("POST", `/v1/sessions/${verb}`, { session, ...(words ? { words } : {}) })).told);
    } catch (error) {
      // Keep the typed text.
      return say(error.message);
    }
    await drawSessions();
  };
  const found = await call("GET", "/v1/sessions");
  $("sessions").replaceChildren(...sessions(found.sessions, { resume: decide("resume"), trust: decide("trust") }));
}

async function drawFigures() {
  $("charts").replaceChildren(...figures(await call("GET", `/v1/stats?days=${$("days").value}`)));
}

async function openStory(id) {
  try {
    const told = await call("GET", `/v1/requests/${id}/story`);
    const from = shown;
    $("story").replaceChildren(...story(told, () => visit(from)));
    show("story");
    $("story").querySelector("h2").focus();
  } catch (error) {
    if (error.status === 401) return login();
    say(error.message);
  }
}

const does = {
  approve: (id, words, scope) => answer(id, "approve", words, scope),
  deny: (id, words) => answer(id, "deny", words),
  sign: (id, words, scope, code) => answer(id, "approve", words, scope, async () => {
    const field = document.getElementById(`code-${id}`);
    if (field && !code.trim()) {
      field.focus();
      throw new Error("Type the code that guard shows where the command waits.");
    }
    const signed = await sign(await call("GET", `/v1/requests/${id}/challenge?${new URLSearchParams(scope)}`));
    // guard checks the code, because the page does not know it.
    return code.trim() ? { ...signed, code: code.trim() } : signed;
  }),
  story: (id) => openStory(id),
  select: (id, on) => { if (on) selected.add(id); else selected.delete(id); drawBatch(); },
};

async function answer(id, verb, words, scope, signing) {
  const node = document.getElementById(`card-${id}`);
  node?.querySelectorAll("button").forEach((button) => { button.disabled = true; });
  try {
    const assertion = signing ? await signing() : undefined;
    const { told } = await call("POST", `/v1/requests/${id}/${verb}`, {
      ...(words ? { words } : {}), ...scope, ...(assertion ? { assertion } : {}),
    });
    say(told);
  } catch (error) {
    say(error.message);
    node?.querySelectorAll("button").forEach((button) => { button.disabled = false; });
    if (error.status === 401) return login();
  }
  await refresh();
}

function drawBatch() {
  const chosen = waiting.filter((request) => selected.has(request.action_id));
  $("batch").hidden = waiting.length < 2;
  const directories = [...new Set(chosen.map((request) => request.cwd))].join(", ");
  const worst = Math.max(0, ...chosen.map((request) => request.tier));
  $("batch-text").textContent = chosen.length
    ? `${chosen.length} selected, in ${directories}; highest tier: ${worst}.`
    : `${waiting.length} waiting.`;
  $("batch-effect").replaceChildren(...effects(chosen));
  $("batch-approve").disabled = chosen.length === 0;
}

function draw() {
  const cards = $("cards");
  const known = new Map([...cards.children].map((node) => [node.id, node]));
  for (const request of waiting) {
    const id = `card-${request.action_id}`;
    if (known.has(id)) { known.delete(id); continue; }
    const bar = bars.get(request.action_id);
    const signed = signs.has(request.action_id);
    const grantSigned = grants.has(request.action_id);
    const node = card(request, { bar, signed, grantSigned, replies, selected: selected.has(request.action_id), does });
    // Requests that need a person's decision come first.
    if (request.decision) cards.prepend(node); else cards.append(node);
  }
  for (const node of known.values()) node.remove();
  selected = new Set([...selected].filter((id) => waiting.some((request) => request.action_id === id)));
  $("nothing").hidden = waiting.length > 0;
  document.title = waiting.length ? `(${waiting.length}) guard` : "guard";
  $("state").textContent = waiting.length === 1 ? "1 waiting" : `${waiting.length} waiting`;
  drawBatch();
}

// A change while the list is being read may not be in it, so the list is read once more.
let refreshing = null;
let again = false;
function refresh() {
  again = true;
  refreshing ??= (async () => {
    while (again) {
      again = false;
      await load();
    }
  })().finally(() => { refreshing = null; });
  return refreshing;
}

async function load() {
  try {
    const { requests } = await read("/v1/requests?status=pending");
    for (const request of requests) {
      if (!bars.has(request.action_id)) {
        const one = await read(`/v1/requests/${request.action_id}`);
        bars.set(request.action_id, one.approve_bar);
        if (one.by_passkey) signs.add(request.action_id);
        if (one.grant_by_passkey) grants.add(request.action_id);
        offers.set(request.action_id, one.offers);
      }
      request.offers = offers.get(request.action_id);
    }
    waiting = requests.reverse();
    draw();
    // The event stream was lost with the connection, even if the browser has not noticed.
    if (lost && stream) listen();
    lost = false;
  } catch (error) {
    if (error.status === 401) return login();
    lost = true;
    $("state").textContent = `not connected: ${error.message}`;
    reconnectLater();
  }
}

function reconnectLater() {
  clearTimeout(again_at);
  if (stream) again_at = setTimeout(reconnect, AGAIN_MS);
}

/** Opens the event stream. A stream that ends is reopened as long as the user is logged in: see `reconnect`. */
function listen() {
  clearTimeout(again_at);
  stream?.close();
  stream = new EventSource("/v1/events");
  stream.onopen = () => refresh();
  stream.onerror = () => {
    $("state").textContent = "connection lost, reconnecting…";
    // A browser retries a lost connection by itself, but not after an error response, such as that of a proxy or of an
    // expired session. Reading the list reports the latter.
    if (stream.readyState === EventSource.CLOSED) reconnectLater();
  };
  for (const kind of ["request.filed", "request.answered", "request.used", "request.late", "request.void",
    "request.lapsed", "request.partly", "reset"]) {
    stream.addEventListener(kind, () => refresh());
  }
}

/** Reads the list, and then reopens the event stream, which would wait forever on a dead connection. */
function reconnect() {
  lost = true;
  return refresh();
}

// A connection that was lost silently looks like one without events, so the list is also read periodically, and when the
// browser reports that it is online again or that the page is visible.
setInterval(() => { if (stream && !document.hidden) refresh(); }, LOOK_MS);
window.addEventListener("online", () => { if (stream) reconnect(); });
document.addEventListener("visibilitychange", () => { if (stream && !document.hidden) refresh(); });

function login() {
  clearTimeout(again_at);
  stream?.close();
  stream = null;
  $("state").textContent = "not logged in";
  show("login");
  $("secret").focus();
}

async function enter(id) {
  show("queue");
  try {
    replies = (await call("GET", "/v1/replies")).replies;
  } catch (error) {
    if (error.status === 401) return login();
  }
  await refresh();
  listen();
  notifier($("notify"), call, say);
  if (id) goTo(id);
}

/** Focuses the card of a request, or shows its details if it is no longer waiting. */
function goTo(id) {
  show("queue");
  const node = document.getElementById(`card-${id}`);
  if (node) node.focus();
  else openStory(id);
}

// Keyboard shortcuts apply only to a focused card, and not while text is typed.
const KEYS = { a: "[data-do=approve],[data-do=sign]", d: "[data-do=deny]", s: "input[type=checkbox]", w: "input:not([type=checkbox])" };
$("cards").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(input|textarea|select)$/i.test(event.target.tagName)) return;
  const article = event.target.closest("article");
  if (event.key === "j" || event.key === "k") {
    (event.key === "j" ? article.nextElementSibling : article.previousElementSibling)?.focus();
  } else if (KEYS[event.key]) {
    const found = article.querySelector(KEYS[event.key]);
    if (event.key === "w") found?.focus(); else found?.click();
  } else {
    return;
  }
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  // If nothing is focused, j goes to the first card.
  if (event.key === "j" && event.target === document.body && !$("queue").hidden) $("cards").firstElementChild?.focus();
});

let searches = 0;
async function history(from) {
  const words = $("words").value.trim();
  const query = new URLSearchParams();
  if (words) query.set("q", words);
  if (from) query.set("cursor", from);
  const all = $("everything").checked;
  const search = ++searches;
  const found = await call("GET", `/v1/${all ? "record" : "requests"}?${query}`);
  // The text has changed meanwhile, and a later search shows its results.
  if (search !== searches) return;
  const lines = all ? found.rows.map(row) : found.requests.map((request) => past(request, openStory));
  if (from) $("past").append(...lines); else $("past").replaceChildren(...lines);
  next = found.next;
  $("more").hidden = !next;
}

async function logIn(secret) {
  try {
    await call("POST", "/v1/login", { secret });
    $("login-error").textContent = "";
    $("secret").value = "";
    await enter();
  } catch (error) {
    login();
    $("login-error").textContent = error.message;
  }
}

$("login").addEventListener("submit", (event) => { event.preventDefault(); logIn($("secret").value); });
for (const view of VIEWS) $(`show-${view}`).addEventListener("click", () => visit(view));
$("days").addEventListener("change", () => visit("figures"));
$("everything").addEventListener("change", () => visit("history"));
$("search").addEventListener("submit", (event) => event.preventDefault());
$("words").addEventListener("input", () => history().catch((error) => say(error.message)));
$("more").addEventListener("click", () => history(next).catch((error) => say(error.message)));
/** Gives the same answer to several requests, a hundred at a time, and shows the errors of those that failed. */
async function answerAll(ids, decision) {
  const failed = [];
  try {
    for (let at = 0; at < ids.length; at += 100) {
      const answers = ids.slice(at, at + 100).map((action_id) => ({ action_id, decision }));
      const { results } = await call("POST", "/v1/requests/decide", { answers });
      failed.push(...results.filter((result) => result.status_code !== 200).map((result) => result.detail));
    }
    if (failed.length) say(`${failed.length} of ${ids.length} failed: ${[...new Set(failed)].join("; ")}`);
    else say(`${ids.length} ${decision === "approve" ? "approved" : "denied"}`);
  } catch (error) {
    if (error.status === 401) return login();
    say(error.message);
  }
  await refresh();
}
$("batch-deny").addEventListener("click", () => answerAll(waiting.map((request) => request.action_id), "deny"));
$("batch-approve").addEventListener("click", () => answerAll([...selected], "approve"));
setInterval(() => {
  for (const node of document.querySelectorAll(".left")) {
    const left = Math.max(0, Math.round((Number(node.dataset.until) - Date.now()) / 1000));
    node.textContent = `${left} s`;
  }
}, 1000);

/** Creates the passkey of a pairing that a terminal began. */
function pair(secret) {
  show("enrol");
  $("state").textContent = "a new passkey";
  const why = unable();
  if (why) {
    $("enrol-told").textContent = why;
    return;
  }
  $("make").hidden = false;
  // A phone requires a tap before it creates a passkey.
  $("make").addEventListener("click", async () => {
    $("make").disabled = true;
    try {
      const wanted = await call("POST", "/v1/enrol", { secret });
      const { digits, name } = await call("POST", "/v1/enrol/done", { secret, registration: await make(wanted) });
      $("enrol-told").textContent = `Created the passkey of ${name}. Compare these digits with the terminal:`;
      $("digits").textContent = digits;
      $("make").hidden = true;
    } catch (error) {
      $("enrol-told").textContent = error.message;
      $("make").disabled = false;
    }
  });
}

const given = new URLSearchParams(location.hash.slice(1));
const code = given.get("login");
const mail = given.get("mail");
// A link in a message contains only the ID of a request.
const wanted = /^#[a-z2-7]{26}$/.test(location.hash) ? location.hash.slice(1) : null;
window.addEventListener("hashchange", () => { if (/^#[a-z2-7]{26}$/.test(location.hash)) goTo(location.hash.slice(1)); });
if (location.pathname === "/enrol") {
  const secret = location.hash.slice(1);
  window.history.replaceState(null, "", "/enrol");
  pair(secret);
} else if (code) {
  // The code works only once, so it is removed from the address.
  window.history.replaceState(null, "", "/");
  logIn(code);
} else if (mail) {
  window.history.replaceState(null, "", "/");
  logIn(mail);
} else {
  enter(wanted);
}
