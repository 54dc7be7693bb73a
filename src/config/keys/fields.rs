//! The fields of the tables `[[support]]`, `[[grant]]`, `[service]` and `[reviewer]`.

use super::Field;

pub(super) const SUPPORT_FIELDS: &[Field] = &[
    Field { name: "argv", kind: "list of strings", what: "The exact arguments, program first." },
    Field { name: "why", kind: "string", what: "What it is for." },
];

pub(super) const GRANT_FIELDS: &[Field] = &[
    Field { name: "name", kind: "string", what: "Its unique name, as shown in the record." },
    Field {
        name: "what",
        kind: "{ exact = … }, { shape = … } or { rule = … }",
        what: "The commands it covers: exactly one command, a program with subcommand and flags, or all that only \
               one rule matches.",
    },
    Field {
        name: "where",
        kind: "an absolute directory, or \"anywhere\"",
        what: "The directory, including everything below it.",
    },
    Field {
        name: "until",
        kind: "a date (its end, UTC), a date-time with offset, or \"revoked\"",
        what: "When it ends.",
    },
];

pub(super) const SERVICE_FIELDS: &[Field] = &[
    Field { name: "account", kind: "the name of an account", what: "The account that owns the record and the queue." },
    Field { name: "socket", kind: "an absolute path", what: "Its socket (default: /run/guard/guard.sock)." },
    Field {
        name: "approvers",
        kind: "a list of names of accounts",
        what: "The accounts that may answer requests and read the record.",
    },
    Field {
        name: "own_requests",
        kind: "true or false",
        what: "Whether they may answer requests of their own account (default: false).",
    },
    Field {
        name: "gateway",
        kind: "the name of an account",
        what: "The account of the gateway, which sees all requests, can deny them, and passes on approvals.",
    },
    Field {
        name: "gateway_unsigned_tier",
        kind: "a tier from 0 to 3",
        what: "The highest tier that can be approved through the gateway without an approver's signature (default: \
               2).",
    },
];

pub(super) const REVIEWER_FIELDS: &[Field] = &[
    Field {
        name: "provider",
        kind: "openai, openai-responses, anthropic, gemini, ollama or program",
        what: "The protocol. openai means chat completions, which vLLM, llama.cpp and LM Studio also support.",
    },
    Field { name: "model", kind: "string", what: "The model's name; for a program, its name in the record." },
    Field {
        name: "url",
        kind: "string",
        what: "The base URL (default: the provider's). Plain http is allowed for this machine only.",
    },
    Field {
        name: "key",
        kind: "{ keyring = … }, { file = … }, { env = … } or { command = […] }",
        what: "Where to read the API key: a name in the keyring, a file, an environment variable, or the output of a \
               command. It is never shown.",
    },
    Field {
        name: "program",
        kind: "list of strings, a program first",
        what: "For provider program: the program, which reads the request as JSON and prints a verdict.",
    },
    Field { name: "timeout", kind: "seconds, 1 to 60", what: "The time limit for an opinion (default: 10)." },
    Field { name: "retries", kind: "0 to 3", what: "How often to retry after a temporary failure (default: 1)." },
    Field { name: "calls_per_day", kind: "number", what: "The limit of calls per day (default: 500)." },
    Field { name: "tokens_per_day", kind: "number", what: "The limit of tokens per day (default: 1000000)." },
    Field {
        name: "money_per_day",
        kind: "number",
        what: "The limit of cost per day, in the currency of the prices (default: none).",
    },
    Field { name: "price_in", kind: "number", what: "The price of a million input tokens." },
    Field { name: "price_out", kind: "number", what: "The price of a million output tokens." },
    Field { name: "cache", kind: "seconds, 0 to 86400", what: "How long an opinion is reused (default: 3600)." },
    Field { name: "max_tokens", kind: "64 to 8192", what: "The token limit of an answer (default: 400)." },
    Field {
        name: "max_tokens_field",
        kind: "string",
        what: "The API's name of that parameter if it is not max_tokens, such as max_completion_tokens.",
    },
    Field { name: "temperature", kind: "number", what: "The sampling temperature; sent only if set." },
    Field { name: "policy", kind: "path", what: "A file with your own instructions, which are added to the prompt." },
    Field {
        name: "contents",
        kind: "list of globs below the working directory",
        what: "Files whose contents are sent if a command names them, such as src/**/*.py (default: none). Files in \
               directories of secrets and symbolic links are never sent.",
    },
    Field { name: "contents_kib", kind: "1 to 64", what: "The limit of sent file contents, in KiB (default: 16)." },
    Field {
        name: "review",
        kind: "list of ids of rules, with *",
        what: "Tier 1 commands that these rules match are also sent to the reviewer, even below the threshold.",
    },
    Field {
        name: "jury",
        kind: "{ provider = …, model = …, … }",
        what: "A second reviewer: both must approve. Fields from provider to temperature.",
    },
];
