//! JSON pointers (RFC 6901), in which `*` is every element of an array and every member of an object.

use serde_json::Value;

/// Reports whether a text is such a pointer: empty, or with a slash at its beginning.
#[must_use]
pub fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

/// Returns all values to which a pointer leads.
#[must_use]
pub fn find<'v>(value: &'v Value, pointer: &str) -> Vec<&'v Value> {
    let mut found = vec![value];
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        found = found.into_iter().flat_map(|value| below(value, step, &name)).collect();
    }
    found
}

/// Returns the texts and numbers in a value, in the notation of a person.
#[must_use]
pub fn leaves(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Number(number) => vec![number.to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(elements) => elements.iter().flat_map(leaves).collect(),
        Value::Object(members) => members.values().flat_map(leaves).collect(),
    }
}

/// Returns a pointer to a member of the value to which another pointer leads.
#[must_use]
pub fn member(of: &str, name: &str) -> String {
    format!("{of}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn below<'v>(value: &'v Value, step: &str, name: &str) -> Vec<&'v Value> {
    match value {
        Value::Object(members) if step == "*" => members.values().collect(),
        Value::Array(elements) if step == "*" => elements.iter().collect(),
        Value::Object(members) => members.get(name).into_iter().collect(),
        Value::Array(elements) => name.parse().ok().and_then(|at: usize| elements.get(at)).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Replaces all values to which a pointer leads, and reports whether there were any.
pub fn replace(value: &mut Value, pointer: &str, with: &Value) -> bool {
    let Some(rest) = pointer.strip_prefix('/') else {
        *value = with.clone();
        return true;
    };
    let (step, rest) = match rest.split_once('/') {
        Some((step, rest)) => (step, format!("/{rest}")),
        None => (rest, String::new()),
    };
    let name = step.replace("~1", "/").replace("~0", "~");
    let mut any = false;
    let mut go = |inner: &mut Value| any |= replace(inner, &rest, with);
    match value {
        Value::Object(members) if step == "*" => members.values_mut().for_each(&mut go),
        Value::Array(elements) if step == "*" => elements.iter_mut().for_each(&mut go),
        Value::Object(members) => members.get_mut(&name).into_iter().for_each(&mut go),
        Value::Array(elements) => {
            let at = name.parse().ok();
            at.and_then(|at: usize| elements.get_mut(at)).into_iter().for_each(&mut go);
        }
        _ => {}
    }
    any
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_lead_to_all_that_a_star_stands_for() {
        let value = json!({"to": [{"a": 1}, {"a": 2}, {"b": 3}], "x/y": {"~": true}});
        assert_eq!(find(&value, "/to/*/a"), [&json!(1), &json!(2)]);
        assert_eq!(find(&value, "/to/1/a"), [&json!(2)]);
        assert_eq!(find(&value, "/x~1y/~0"), [&json!(true)]);
        assert_eq!(find(&value, ""), [&value]);
        assert!(find(&value, "/to/9").is_empty() && find(&value, "/no/*").is_empty());
    }

    #[test]
    fn what_a_pointer_leads_to_is_replaced_and_nothing_else() {
        let mut value = json!({"to": [{"a": 1}, {"a": 2}], "b": 3});
        assert!(replace(&mut value, "/to/*/a", &json!("x")));
        assert_eq!(value, json!({"to": [{"a": "x"}, {"a": "x"}], "b": 3}));
        assert!(!replace(&mut value, "/c/d", &json!("x")));
        assert!(replace(&mut value, "/b", &json!(null)));
        assert_eq!(value["b"], Value::Null);
    }
}
