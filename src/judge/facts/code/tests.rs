//! Promises of reading code.

use super::*;

fn seen(language: &str, text: &str) -> Vec<String> {
    let fetches = |callee: &str| callee.ends_with("urlopen");
    read(language, text, World { home: "/home/dev", fetches: &fetches })
        .calls
        .iter()
        .map(|call| {
            let args: Vec<_> =
                call.args.iter().map(|arg| arg.known().map_or("?".to_owned(), |text| text.into_owned())).collect();
            format!("{}({})", call.callee, args.join(", "))
        })
        .collect()
}

fn has(language: &str, text: &str, call: &str) {
    let all = seen(language, text);
    assert!(all.iter().any(|seen| seen == call), "{call} not in {all:?} of {text}");
}

#[test]
fn python_calls_are_seen_through_imports_and_variables() {
    has("python", "import os; os.system('rm -rf /')", "os.system(rm -rf /)");
    has("python", "from shutil import rmtree as r\nr('build')", "shutil.rmtree(build)");
    has("python", "import subprocess as s\ns.run(['rm', '-rf', x])", "subprocess.run(rm, -rf, ?)");
    has("python", "__import__('os').system('ls')", "os.system(ls)");
    has("python", "p = '/etc' + '/passwd'\nopen(p).read()", "open.read(/etc/passwd)");
    has("python", "from pathlib import Path\nPath('a').unlink()", "pathlib.Path.unlink(a)");
    has("python", "import os\nos.remove(os.path.expanduser('~/.ssh/id'))", "os.remove(/home/dev/.ssh/id)");
    has("python", "import os\nos.remove(f'/tmp/{name}')", "os.remove(?)");
}

#[test]
fn text_that_is_printed_is_no_call() {
    assert_eq!(seen("python", "print(\"os.system('rm -rf /')\")"), ["print(os.system('rm -rf /'))"]);
    assert_eq!(seen("python", "# os.system('x')\nx = 1"), [""; 0]);
    assert_eq!(seen("js", "// fs.rmSync('x')\n/* rm() */ const a = 'rm(1)'"), [""; 0]);
}

#[test]
fn javascript_calls_are_seen_through_require_and_import() {
    has("js", "require('fs').rmSync('src', {recursive: true})", "fs.rmSync(src, --recursive=true)");
    has("js", "const fs = require('node:fs'); fs.promises.rm('x')", "fs.promises.rm(x)");
    has("js", "const {execSync} = require('child_process'); execSync(`rm -rf /`)", "child_process.execSync(rm -rf /)");
    has("js", "import {unlinkSync as u} from 'fs'; u('x')", "fs.unlinkSync(x)");
    has("js", "import cp from 'child_process'\ncp.spawn('rm', ['-rf', '/'])", "child_process.spawn(rm, -rf, /)");
}

#[test]
fn commands_without_brackets_and_in_backticks_are_seen() {
    has("ruby", "system 'rm -rf /'", "system(rm -rf /)");
    has("ruby", "`rm -rf /`", "backtick(rm -rf /)");
    has("ruby", "%x{rm -rf /}", "backtick(rm -rf /)");
    has("ruby", "require 'fileutils'; FileUtils.rm_rf('src')", "FileUtils.rm_rf(src)");
    has("perl", "system(\"rm -rf /\")", "system(rm -rf /)");
    has("perl", "unlink 'a', 'b'", "unlink(a, b)");
    has("perl", "my $x = qx(rm -rf /);", "backtick(rm -rf /)");
    has("php", "<?php shell_exec('rm -rf /'); unlink(\"x\");", "shell_exec(rm -rf /)");
    has("lua", "os.execute 'rm -rf /'", "os.execute(rm -rf /)");
}

#[test]
fn statements_are_read_and_not_text() {
    has("sql", "select 1; DROP TABLE users", "drop(table, users)");
    has("sql", "DELETE FROM users", "delete(users)");
    has("sql", "delete from users where id = 1", "delete(users, --where)");
    has("sql", "DELETE FROM users WHERE 1=1", "delete(users)");
    has("sql", "TRUNCATE orders", "truncate(orders)");
    assert_eq!(seen("sql", "select 'drop table users'"), ["select()"]);
    assert_eq!(seen("sql", "-- drop table x\nselect 1"), ["select()"]);
    has("sql", "EXPLAIN (ANALYZE, COSTS off) DELETE FROM users", "delete(users)");
    assert_eq!(seen("sql", "EXPLAIN (ANALYZE false) DELETE FROM users"), ["session()"]);
    has("redis", "FLUSHALL", "flushall()");
    has("mongo", "db.users.deleteMany({})", "deleteMany({})");
    has("mongo", "db.dropDatabase()", "dropDatabase()");
}

#[test]
fn awk_and_sed_show_what_they_run_and_write() {
    has("awk", "BEGIN { system(\"rm -rf /\") }", "system(rm -rf /)");
    has("awk", "{ print $1 | \"sh\" }", "pipe(sh)");
    has("awk", "{ print > \"out.txt\" }", "write(out.txt)");
    has("sed", "1e rm -rf /", "exec(rm -rf /)");
    has("sed", "s/a/b/w out.txt", "write(out.txt)");
    assert_eq!(seen("sed", "s/execute/write/g"), [""; 0]);
}

#[test]
fn what_the_shell_puts_in_is_unknown() {
    has("python", "open('\u{FFFC}').read()", "open.read(?)");
}

#[test]
fn what_a_loop_goes_through_is_known() {
    let calls = |text: &str| {
        let fetches = |_: &str| false;
        read("python", text, World { home: "/home/dev", fetches: &fetches }).calls
    };
    let walked = calls("import os\nfor r, d, f in os.walk('/'):\n  for x in f: os.unlink(os.path.join(r, x))");
    let last = walked.last().map(|call| (call.callee.clone(), call.args.clone())).unwrap();
    assert_eq!(last.0, "os.unlink");
    let found = |why: &UnknownReason| matches!(why, UnknownReason::Found(Some(start)) if start == "/");
    assert!(matches!(last.1[0].pieces.first(), Some(Piece::Unknown(unknown)) if found(&unknown.why)), "{last:?}");
    has("python", "[os.remove(f) for f in ['a', 'b']]", "os.remove(a, b)");
}

#[test]
fn the_home_is_known_in_every_language() {
    has("python", "import os\nopen(os.environ['HOME'] + '/.x', 'a').write('y')", "open.append(/home/dev/.x)");
    has(
        "python",
        "from pathlib import Path\n(Path.home() / '.x').write_text('y')",
        "pathlib.Path.write_text(/home/dev/.x, y)",
    );
    has("python", "import os\nos.remove(f\"{os.environ['HOME']}/x\")", "os.remove(/home/dev/x)");
    has("js", "require('fs').appendFileSync(`${process.env.HOME}/.x`, 'y')", "fs.appendFileSync(/home/dev/.x, y)");
    has("js", "fs.rmSync(require('os').homedir() + '/x')", "fs.rmSync(/home/dev/x)");
    has("ruby", "File.write(\"#{ENV['HOME']}/.x\", 'y')", "File.write(/home/dev/.x, y)");
    has("ruby", "File.delete(Dir.home + '/x')", "File.delete(/home/dev/x)");
    has("perl", "open F, \">>$ENV{HOME}/.x\"", "open.append(/home/dev/.x)");
    has("php", "unlink(getenv('HOME') . '/x');", "unlink(/home/dev/x)");
    has("lua", "os.remove(os.getenv('HOME') .. '/x')", "os.remove(/home/dev/x)");
    has("awk", "BEGIN { print 1 > ENVIRON[\"HOME\"] \"/x\" }", "write(/home/dev/x)");
}

#[test]
fn code_that_is_encoded_is_read_as_what_it_says() {
    has("python", "import base64; exec(base64.b64decode('bHM='))", "exec(ls)");
    has("js", "eval(Buffer.from('bHM=', 'base64').toString())", "eval(ls)");
    has("perl", "eval decode_base64('bHM=')", "eval(ls)");
    has("php", "eval(base64_decode('bHM='));", "eval(ls)");
}

#[test]
fn a_temporary_directory_and_what_is_fetched_are_told_from_what_is_unknown() {
    let read = |text: &str| {
        let fetches = |callee: &str| callee.ends_with("urlopen");
        read("python", text, World { home: "/home/dev", fetches: &fetches }).calls
    };
    let why = |value: &Value| match value.pieces.first() {
        Some(Piece::Unknown(unknown)) => Some((unknown.why.clone(), unknown.taint)),
        _ => None,
    };
    let made = read("import tempfile, shutil; d = tempfile.mkdtemp(); shutil.rmtree(d)");
    assert_eq!(
        why(&made[0].args[0]).map(|(why, _)| why),
        Some(UnknownReason::Temporary { variable: false }),
        "{made:?}"
    );
    let fetched = read("from urllib.request import urlopen\nexec(urlopen('http://x').read())");
    assert_eq!(why(&fetched[1].args[0]).map(|(_, taint)| taint), Some(Taint::FETCHED), "{fetched:?}");
}

#[test]
fn editors_debuggers_and_consoles_run_commands() {
    has("ex", ":silent !rm x", "exec(rm x)");
    has("ex", "%!sort | rm x", "exec(sort | rm x)");
    has("ex", "call system('rm x')", "exec(rm x)");
    has("ex", "w | !rm x", "exec(rm x)");
    has("gdb", "shell rm x\nbt", "exec(rm x)");
    has("gdb", "python import os", "python(import os)");
    has("ipython", "!rm x\nprint(1)", "exec(rm x)");
    has("m4", "syscmd(rm -rf x)", "exec(rm -rf x)");
    has("applescript", "do shell script \"rm x\" with administrator privileges", "exec(rm x)");
    has("applescript", "tell app \"Terminal\" to do script \"rm x\"", "exec(rm x)");
    has("applescript", "a.doShellScript('rm x')", "exec(rm x)");
    has("tcl", "spawn rm -rf x; interact", "exec(rm, -rf, x)");
    has("tcl", "if {1} { file delete -force x }", "delete(x)");
    has("other", "Sys.command \"rm x\"", "command(rm x)");
    has("other", "(shell-command \"rm x\")", "shell-command(rm x)");
    assert_eq!(seen("ex", "set nu\n12\n%s/a/b/g"), [""; 0]);
}

#[test]
fn code_of_any_depth_is_read_without_end_or_fall() {
    for (language, part) in [
        ("python", "("),
        ("js", "["),
        ("js", "{"),
        ("python", "[x for x in "),
        ("perl", "unlink "),
        ("perl", "open my "),
        ("ruby", "\"#{"),
        ("python", "f\"{"),
        ("ruby", "a.b "),
        ("js", "new "),
        ("python", "with a as "),
        ("awk", "print \"a\" | "),
        ("tcl", "[exec "),
        ("ex", "exe \""),
        ("other", "run(\"a\", "),
        ("m4", "syscmd("),
    ] {
        let read = read(language, &part.repeat(20_000), World { home: "/home/dev", fetches: &|_| false });
        assert!(read.calls.len() <= MAX_CALLS, "{language} {part}");
    }
}
