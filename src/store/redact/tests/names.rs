//! Tests of secrets that are recognised by their names.

use super::redact;

#[test]
fn a_name_says_how_much_its_value_is_a_secret() {
    for (text, wanted) in [
        ("otp=123456 x", "otp=*** x"),
        ("REDISCLI_AUTH=hunter2 redis-cli ping", "REDISCLI_AUTH=*** redis-cli ping"),
        ("mytoken=hunter2 x", "mytoken=*** x"),
        ("MYPWD=hunter2 x", "MYPWD=*** x"),
        ("MY_SERVICE_KEY=hunter2 x", "MY_SERVICE_KEY=*** x"),
        ("MY2_SERVICE_KEY=hunter2 x", "MY2_SERVICE_KEY=*** x"),
        ("SECRET_KEY_BASE=hunter2 x", "SECRET_KEY_BASE=*** x"),
        ("TOKEN=1234567 x", "TOKEN=*** x"),
        ("PASSWORD=1234 x", "PASSWORD=*** x"),
        ("SESSION=aB3dE5gH7jK9 x", "SESSION=*** x"),
    ] {
        assert_eq!(redact(text), (wanted.to_owned(), true), "{text}");
    }
    for text in [
        "X_AUTH=hunter2 x",
        "my_service_key=hunter2 x",
        "KEY=hunter2 x",
        "key_x=hunter2 y",
        "secret_name=hunter2 x",
        "TOKEN=123456 x",
        "SESSION=hunter2 x",
        "read -r LINE <<< hello",
        "read -r SESSION <<< hello",
        "read LINE <<< hello",
    ] {
        assert_eq!(redact(text), (text.to_owned(), false));
    }
}

#[test]
fn a_value_is_found_by_what_stands_between_it_and_its_name() {
    for (text, wanted) in [
        ("token:=hunter2 x", "token:=*** x"),
        ("d[password] = \"hunter2\"", "d[password] = \"***\""),
        ("cat > f <<E\npassword = hunter.2x\nE", "cat > f <<E\npassword = ***\nE"),
        ("cat > f <<E\npassword = hunter\nE", "cat > f <<E\npassword = ***\nE"),
        ("env 'TOKEN=hunter2 three' make", "env 'TOKEN=***' make"),
        ("env A=b 'TOKEN=hunter2 three' make", "env A=b 'TOKEN=***' make"),
        ("docker run -e 'API_TOKEN=hunter2 three' image", "docker run -e 'API_TOKEN=***' image"),
        ("docker run --env='API_TOKEN=hunter2 three' image", "docker run --env='API_TOKEN=***' image"),
        ("sh -c 'TOKEN=hunter2 make x'", "sh -c 'TOKEN=*** make x'"),
        ("tool '--password=hunter2 three' x", "tool '--password=***' x"),
        ("curl -H 'Cookie: sid=hunter2; b=c' h", "curl -H 'Cookie: ***' h"),
        ("echo \"{password: 'hunter2', b: 1}\"", "echo \"{password: ***, b: 1}\""),
        ("echo password: 'hunter2' there", "echo password: '***' there"),
        ("echo password: \"hunter2\" there", "echo password: \"***\" there"),
        ("echo '{\"password\": hunter2, \"b\": 1}'", "echo '{\"password\": ***, \"b\": 1}'"),
        ("echo 'X-Api-Key: hunter2 more'", "echo 'X-Api-Key: *** more'"),
        ("cat <<E\npassword: hunter2\nE", "cat <<E\npassword: ***\nE"),
        ("echo fix token: aB3dE5gH7jK9 there", "echo fix token: *** there"),
        ("tool --secret hunter2 x", "tool --secret *** x"),
        ("echo password:'hunter2' there", "echo password:'***' there"),
    ] {
        assert_eq!(redact(text), (wanted.to_owned(), true), "{text}");
    }
    for text in [
        "pip install mytoken==abc1234",
        "open token://aB3dE5gH7jK9",
        "python - <<'E'\nd[\"password\"] = value9\nE",
        "tool --token,abcdef1",
        "echo \"token\" aB3dE5gH7jK9",
        "echo \"the password\": hunter2 there",
        "password\": hunter2 there",
        "password\\] = \"hunter2\"",
        "echo 'X-Session: hunter2 more'",
        "dialog --title \"Password:\" x",
        "dialog --titles \"Password:\" x",
        "python - <<E\npassword = a$x\nE",
        "sudo docker service create --secret db-password nginx",
        "A=1 sudo docker build --secret npm .",
        "tool --secret id=npm x",
        "tool --secret src=file x",
    ] {
        assert_eq!(redact(text), (text.to_owned(), false));
    }
}
