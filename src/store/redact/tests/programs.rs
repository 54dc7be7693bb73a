//! Tests of secrets that are recognised by their position in the arguments of a program.

use super::redact;

#[test]
fn an_option_takes_a_secret_of_its_own_program_and_subcommand_alone() {
    for (text, wanted) in [
        ("sshpass -p\thunter2 ssh host", "sshpass -p\t*** ssh host"),
        ("gh secret set NAME --body=hunter2 x", "gh secret set NAME --body=*** x"),
        ("docker login -p hunter2 host", "docker login -p *** host"),
    ] {
        assert_eq!(redact(text), (wanted.to_owned(), true), "{text}");
    }
    for text in [
        "docker run -p 8080:80 nginx",
        "sshpass -p",
        "mysql -p; ls",
        "gh issue create --body=hunter2",
        "mysql '-p' shop",
        "sshpass -p /run/password ssh host",
    ] {
        assert_eq!(redact(text), (text.to_owned(), false));
    }
}

#[test]
fn what_is_printed_is_a_secret_by_the_name_of_its_file() {
    for (text, wanted) in [
        ("echo hunter2 > token.txt", "echo *** > token.txt"),
        ("echo hunter2 > db-password", "echo *** > db-password"),
        ("echo hunter2 > server.pem", "echo *** > server.pem"),
    ] {
        assert_eq!(redact(text), (wanted.to_owned(), true), "{text}");
    }
    for text in ["echo hello > notes.txt", "echo hello > token.md", "echo hello token.txt"] {
        assert_eq!(redact(text), (text.to_owned(), false));
    }
}

#[test]
fn a_here_string_is_a_secret_where_a_secret_is_read() {
    for (text, wanted) in
        [("read -s X <<< hunter2", "read -s X <<< ***"), ("tool env add X <<< hunter2", "tool env add X <<< ***")]
    {
        assert_eq!(redact(text), (wanted.to_owned(), true), "{text}");
    }
    for text in ["cat -s <<< hello", "env A=b cat <<< hello", "git add x <<< hello"] {
        assert_eq!(redact(text), (text.to_owned(), false));
    }
}
