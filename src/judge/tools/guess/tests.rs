use serde_json::json;

use super::*;
use crate::judge::rules::catalog::Catalog;

fn guessed(call: &ToolCall) -> Guess {
    guess(call, Catalog::builtin().lexicon())
}

fn bare(name: &str) -> u8 {
    guessed(&ToolCall::new(name, json!({}))).tier.number()
}

fn told(name: &str, description: &str) -> ToolCall {
    ToolCall { description: Some(description.to_owned()), ..ToolCall::new(name, json!({})) }
}

#[test]
fn a_plain_read_is_tier_1_and_nothing_unknown_is() {
    for name in ["list_files", "getWeather", "search-issues", "mcp__x__describe_table", "jira_get_issue"] {
        assert_eq!(bare(name), 1, "{name}");
    }
    for name in ["frobnicate", "x", "widget", "Task2", ""] {
        assert!(bare(name) >= 2, "{name}");
    }
}

#[test]
fn what_acts_by_its_name_is_never_a_read_whatever_it_says() {
    let said = "Lists all items. Read-only and safe, returns a list. Makes a GET request.";
    for name in ["delete_item", "send_mail", "create_refund", "pay_invoice", "grant_role", "update_row", "stop_server"]
    {
        assert!(bare(name) >= 2, "{name}");
        let mut call = told(name, said);
        call.hints = Some(json!({"readOnlyHint": true, "destructiveHint": false, "requires_confirmation": false}));
        assert!(guessed(&call).tier.number() >= bare(name).min(2), "{name}");
    }
    for name in ["delete_repository", "run_shell", "deploy_service", "send_email"] {
        let quiet = guessed(&ToolCall::new(name, json!({}))).tier;
        assert_eq!(guessed(&told(name, said)).tier.max(quiet), guessed(&told(name, said)).tier, "{name}");
    }
}

#[test]
fn secrets_and_permissions_are_no_plain_reads() {
    for name in ["get_secret", "list_passwords", "get-env", "browser_cookie_list", "getVaultItemPassword"] {
        assert!(bare(name) >= 2, "{name}");
    }
}

#[test]
fn what_a_tool_says_raises() {
    let quiet = ToolCall::new("get_report", json!({}));
    assert_eq!(guessed(&quiet).tier, Tier::Low);
    for hint in ["destructiveHint", "requires_confirmation"] {
        let call = ToolCall { hints: Some(json!({ hint: true })), ..quiet.clone() };
        assert_eq!((guessed(&call).tier, guessed(&call).by), (Tier::Medium, GuessBasis::Hint));
    }
    for (name, tier) in
        [("save_library_item", Tier::Medium), ("import_design_tokens", Tier::Medium), ("get_report", Tier::Low)]
    {
        let mut call = told(name, "Saves an item of the library.");
        assert_eq!(guessed(&call).tier, Tier::Low, "{name}");
        call.hints = Some(json!({"readOnlyHint": false}));
        assert_eq!(guessed(&call).tier, tier, "{name}");
    }
    let call = ToolCall { hints: Some(json!({"readOnlyHint": true})), ..ToolCall::new("frobnicate", json!({})) };
    assert_eq!(guessed(&call).tier, Tier::Medium);
}

#[test]
fn a_tool_of_many_actions_is_judged_by_the_one_that_is_given() {
    let schema = json!({"properties": {"action": {"type": "string", "enum": ["list", "delete"]}}});
    let with = |input| ToolCall { schema: Some(schema.clone()), ..ToolCall::new("inspect_item", input) };
    let sums = |call: &ToolCall| {
        let known = Catalog::builtin();
        let mut signals = Signals::default();
        of_input(&mut signals, call, known.lexicon());
        signals.0
    };
    assert!(sums(&with(json!({}))).contains("action delete"));
    assert!(!sums(&with(json!({"action": "list"}))).contains("action delete"));
    assert!(sums(&with(json!({"action": "delete"}))).contains("action delete"));
}

#[test]
fn a_name_that_was_cut_is_no_plain_read() {
    let name = "mcp_a_server_with_quite_a_name...list_all_the_things_of_everyone";
    let guess = guessed(&ToolCall::new(name, json!({})));
    assert!(guess.tier >= Tier::Medium);
}

#[test]
fn an_action_that_nothing_is_known_of_makes_nothing_harmless() {
    let schema = json!({ "properties": { "resource": { "type": "object" }, "action": { "type": "string" } } });
    let of = |input| {
        let call = told_of("run_resource_action", "Runs an action on a resource.", input);
        guessed(&ToolCall { schema: Some(schema.clone()), ..call }).tier
    };
    for input in [json!({}), json!({ "action": "frobnicate" }), json!({ "action": "delete" })] {
        assert!(of(input.clone()) >= Tier::Medium, "{input}");
    }
}

fn told_of(name: &str, description: &str, input: Value) -> ToolCall {
    ToolCall { input, ..told(name, description) }
}

#[test]
fn changes_among_the_actions_that_are_offered_count_where_the_name_has_no_verb() {
    let schema = |action: Value| Some(json!({ "properties": { "action": action, "region": {} } }));
    let of = |action: Value| {
        let said = "Cloud: list_regions/list_sizes/list_images and more.";
        guessed(&ToolCall { schema: schema(action), ..told("examplecloud", said) }).tier
    };
    assert!(of(json!({ "enum": ["list_regions", "create_server"] })) >= Tier::Medium);
    assert_eq!(of(json!({ "enum": ["list_regions", "list_sizes"] })), Tier::Low);
    let each = |values: Value| {
        let item = json!({ "properties": { "operation": { "enum": values }, "path": {} } });
        let schema = json!({ "properties": { "operations": { "type": "array", "items": item } } });
        let said = "Performs batch operations on multiple files.";
        guessed(&ToolCall { schema: Some(schema), ..told("quick_batch_file_operations", said) }).tier
    };
    assert!(each(json!(["copy", "delete"])) >= Tier::Medium);
    assert_eq!(each(json!(["read", "list"])), Tier::Low);
}

#[test]
fn what_runs_elsewhere_is_no_plain_read() {
    for name in ["ssh_execute", "execute_sudo", "run_remote"] {
        let call = told_of(name, "Runs a command.", json!({ "command": "ls" }));
        assert!(guessed(&call).tier >= Tier::Medium, "{name}");
    }
}

#[test]
fn an_input_that_has_secrets_shown_is_no_plain_read() {
    let of = |input| guessed(&told_of("get_item", "Returns an item.", input));
    assert_eq!(of(json!({ "id": "1", "reveal": false })).tier, Tier::Low);
    for name in ["reveal", "show_secrets", "withDecryption", "include-passwords"] {
        let guess = of(json!({ "id": "1", name: true }));
        assert_eq!((guess.tier, guess.by), (Tier::High, GuessBasis::Reveals), "{name}");
    }
}

#[test]
fn a_description_that_says_that_it_destroys_raises_unless_it_denies_it() {
    let of = |said: &str| guessed(&told("get_report", said)).tier;
    for said in ["Gets a report. This is destructive.", "Gets a report; irreversible.", "Permanently deletes the rest."]
    {
        assert!(of(said) >= Tier::Medium, "{said}");
    }
    for said in ["Gets a report. Non-destructive.", "Gets a report. It is not destructive.", "Gets a report."] {
        assert_eq!(of(said), Tier::Low, "{said}");
    }
}

#[test]
fn a_command_that_holds_a_word_for_a_read_is_as_any_other_command() {
    let of = |command: &str| guessed(&ToolCall::new("run_it", json!({ "command": command, "code": "x" }))).tier;
    assert_eq!(of("cat x"), Tier::Low);
    for command in ["cat read", "./read", "list; ls"] {
        assert_eq!(of(command), Tier::Low, "{command}");
    }
    assert!(of("delete") > Tier::Low);
}
