//! Tests the parsing of code.

use super::*;
use crate::judge::analysis::act::{Taint, UnknownReason};

/// Reports whether a name may belong to a described function: a name of several parts, or `system`.
fn knows(callee: &str) -> bool {
    let described_nowhere = ["env", "zipfile", "logging"].iter().any(|part| callee.contains(part));
    callee.contains('.') && !described_nowhere || callee == "system"
}

fn seen(language: &str, text: &str) -> Vec<String> {
    seen_in("", language, text)
}

/// Like [`seen`], for a file at this path.
fn seen_in(file: &str, language: &str, text: &str) -> Vec<String> {
    let fetches = |callee: &str| callee.ends_with("urlopen");
    read(
        Language::of(language).unwrap(),
        &Source::known(text),
        World {
            home: "/home/dev",
            file,
            fetches: &fetches,
            knows: &knows,
            acts: &|name| name.starts_with("remove_"),
            spend: &|_| true,
        },
    )
    .calls
    .iter()
    .map(|call| {
        let args: Vec<_> = call
            .args
            .iter()
            .chain(&call.facts)
            .map(|arg| arg.known().map_or("?".to_owned(), |text| text.into_owned()))
            .collect();
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
    for (language, text) in [
        ("perl", "print if /unlink a|rmtree/ and not /system b/;"),
        ("ruby", "puts l unless l if /unlink a|rmtree/"),
        ("perl", "my @b = grep /unlink a/, @l;"),
    ] {
        let all = seen(language, text);
        assert!(!all.iter().any(|call| call.starts_with("unlink") || call.starts_with("system")), "{all:?} of {text}");
    }
    has("perl", "unlink 'a' if /x/ and 4 / 2;", "unlink(a)");
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
    has("sql", "ALTER TABLE t DELETE WHERE 1 = 1", "delete(t)");
    has("sql", "ALTER TABLE t UPDATE a = 1 WHERE id = 2", "update(t, --where)");
    has("sql", "BEGIN DELETE FROM t; END;", "delete(t)");
    has("sql", "IF OBJECT_ID('t') IS NOT NULL DROP TABLE t", "drop(table, t)");
    has("sql", "DO $$ BEGIN FOR r IN SELECT 1 LOOP EXECUTE format('%I', r); END LOOP; END $$", "execute(--unknown)");
    has("sql", "DO 'BEGIN EXECUTE ''drop table t''; END'", "drop(table, t)");
    assert_eq!(seen("sql", "BEGIN; COMMIT"), ["session()", "session()"]);
    assert_eq!(seen("sql", "WHEN x THEN SELECT 1 FOR UPDATE"), [""; 0]);
    has("sql", "select * from pg_shadow", "select(--secret)");
    assert_eq!(seen("sql", "select user, host from mysql.user"), ["select()"]);
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
    // Inserted text continues until a line does not end in a backslash; pairs of backslashes do not count.
    assert_eq!(seen("sed", "2a\\\n\\\n    def f(self):\\\n        w x"), [""; 0]);
    has("sed", "2a\\\nx\\\\\ne rm -rf /", "exec(rm -rf /)");
    has("sed", "2a x\ne rm -rf /", "exec(rm -rf /)");
    has("sed", "2d\\\ne rm -rf /", "exec(rm -rf /)");
}

#[test]
fn what_the_shell_puts_in_is_unknown() {
    let call = |text: &str, mark: Option<Piece>, rest: &str| {
        let code = Value::of(
            [Some(Piece::Text(text.into())), mark, Some(Piece::Text(rest.into()))].into_iter().flatten().collect(),
        );
        let world = World {
            home: "/home/dev",
            file: "",
            fetches: &|_| false,
            knows: &knows,
            acts: &|_| false,
            spend: &|_| true,
        };
        let mut calls = read(Language::Python, &Source::of(&code).unwrap(), world).calls;
        calls.pop().unwrap().args.pop().unwrap()
    };
    assert!(call("open('", Some(unknown_piece()), "').read()").is_dynamic());
    assert!(call("open('/etc/", Some(unknown_piece()), "').read()").is_dynamic());
    for written in ["\u{fffc}", "\u{e001}", "\u{e002}", "\u{e003}", "\u{e004}", "\u{e005}", "\u{f0000}"] {
        assert!(call(&format!("open('{written}').read()"), None, "").is(written), "{written:?}");
    }
    // No file has such a name, so the argument counts as unknown.
    for written in ["\0", "\\0", "\\x00", "a\\u0000\u{e002}"] {
        assert!(call(&format!("open('{written}').read()"), None, "").is_dynamic(), "{written:?}");
    }
}

#[test]
fn what_a_loop_goes_through_is_known() {
    let calls = |text: &str| {
        let fetches = |_: &str| false;
        read(
            Language::Python,
            &Source::known(text),
            World { home: "/home/dev", file: "", fetches: &fetches, knows: &knows, acts: &|_| false, spend: &|_| true },
        )
        .calls
    };
    let walked = calls("import os\nfor r, d, f in os.walk('/'):\n  for x in f: os.unlink(os.path.join(r, x))");
    let last = walked.last().map(|call| (call.callee.clone(), call.args.clone())).unwrap();
    assert_eq!(last.0, "os.unlink");
    let found = |why: &UnknownReason| matches!(why, UnknownReason::Found(Some(start)) if start == "/");
    assert!(matches!(last.1[0].pieces().first(), Some(Piece::Unknown(unknown)) if found(&unknown.why)), "{last:?}");
    has("python", "[os.remove(f) for f in ['a', 'b']]", "os.remove(a, b)");
}

#[test]
fn the_home_is_known_in_every_language() {
    has("python", "import os\nopen(os.environ['HOME'] + '/.x', 'a').write('y')", "open.append(/home/dev/.x, y)");
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
        read(
            Language::Python,
            &Source::known(text),
            World { home: "/home/dev", file: "", fetches: &fetches, knows: &knows, acts: &|_| false, spend: &|_| true },
        )
        .calls
    };
    let why = |value: &Value| match value.pieces().first() {
        Some(Piece::Unknown(unknown)) => Some((unknown.why.clone(), unknown.taint)),
        _ => None,
    };
    let mut made = read("import tempfile, shutil; d = tempfile.mkdtemp(); shutil.rmtree(d)");
    made.retain(|call| call.callee == "shutil.rmtree");
    assert_eq!(
        why(&made[0].args[0]).map(|(why, _)| why),
        Some(UnknownReason::Temporary { variable: false }),
        "{made:?}"
    );
    for (code, temporary) in [
        ("def test_x(tmp_path):\n    shutil.rmtree(tmp_path)", true),
        ("@pytest.fixture\ndef made(tmpdir):\n    shutil.rmtree(tmpdir)", true),
        ("def made(tmp_path):\n    shutil.rmtree(tmp_path)", false),
        ("def test_x(tmp_path):\n    shutil.rmtree(tmp_path)\ntest_x('/home')", false),
    ] {
        let calls = read(&format!("import shutil\n{code}"));
        let given = calls.iter().find(|call| call.callee == "shutil.rmtree").and_then(|call| why(&call.args[0]));
        let is = matches!(given, Some((UnknownReason::Temporary { .. }, _)));
        assert_eq!(is, temporary, "{code} {calls:?}");
    }
    let fetched = read("from urllib.request import urlopen\nexec(urlopen('http://x').read())");
    assert_eq!(why(&fetched[1].args[0]).map(|(_, taint)| taint), Some(Taint::FETCHED), "{fetched:?}");
}

#[test]
fn a_way_to_write_says_what_a_call_of_any_name_does() {
    has("python", "import zipfile\nzipfile.ZipFile('x', 'w').close()", "open.write(x)");
    has("python", "from logging import handlers as h\nh.WatchedFileHandler('x', mode='a')", "open.append(x)");
    has("python", "import logging\nlogging.basicConfig(filename='x', filemode='wt')", "open.write(x)");
    has("python", "anything('x', 'w:gz')", "open.write(x)");
    has("python", "import shutil\nshutil.copy('x', 'w')", "shutil.copy(x, w)");
    has("python", "import fileinput\nfileinput.input('x', inplace=True)", "open.write(x)");
    for code in ["f('x', 'r')", "f('x', 'wide')", "f('x', 'rb+')", "f(1, 'w')", "f('x', inplace=False)"] {
        assert!(!seen("python", code).iter().any(|call| call.starts_with("open.")), "{code}");
    }
}

#[test]
fn what_a_substitution_changes_is_not_known_any_more() {
    has("perl", "$_ = 'ez'; y/a-z/n-za-m/; exec $_", "exec(?)");
    has("perl", "my $x = 'ls'; $x =~ tr/a-z/n-za-m/; system($x)", "system(?)");
    has("perl", "$x = 'ls'; $x =~ s/ls/rm/; system($x)", "system(?)");
    has("perl", "$x = 'ls'; $y = $x =~ s/ls/rm/r; system($x)", "system(ls)");
    has("perl", "$x = 'ls'; print 1 if $x =~ m/ls/; system($x)", "system(ls)");
    has("perl", "s/a/unlink 'x'/e", "unlink(x)");
    for mark in ["$`", "$'", "$\"", "$/", "$#", "$#a", "$<", "$(", "$)", "$&"] {
        has("perl", &format!("my $i = $d ? {mark} : f($d); unlink 'x'"), "unlink(x)");
    }
    has("ruby", "i = $`; j = $'; File.delete('x')", "File.delete(x)");
}

#[test]
fn an_assignment_in_brackets_is_what_it_assigns() {
    has("php", "($f = 'sys'.'tem')('rm x');", "system(rm x)");
    has("js", "const fs = require('fs'); (g = fs.unlinkSync)('x')", "fs.unlinkSync(x)");
    has("js", "const fs = require('fs'); let p; (p = 'x'); fs.unlinkSync(p)", "fs.unlinkSync(x)");
}

#[test]
fn files_that_a_query_reads_are_its_own() {
    has("sql", "select content from read_text(['.env', 'a/b'])", "select(--from=.env, --from=a/b)");
    has("sql", "select * from read_csv('a.csv')", "select(--from=a.csv)");
}

#[test]
fn editors_debuggers_and_consoles_run_commands() {
    has("ex", ":silent !rm x", "exec(rm x)");
    has("ex", "%!sort | rm x", "exec(sort | rm x)");
    has("ex", "call system('rm x')", "exec(rm x)");
    has("ex", "w | !rm x", "exec(rm x)");
    has("gdb", "shell rm x\nbt", "exec(rm x)");
    has("gdb", "python import os", "python(import os)");
    has("gdb", "make -f x.mk", "exec(make -f x.mk)");
    has("gdb", "target remote | nc h 1", "exec(nc h 1)");
    has("gdb", "set exec-wrapper env A=1 ./x", "exec(env A=1 ./x)");
    has("gdb", "source x.py\nsource -v y", "pyfile(x.py)");
    has("gdb", "source -v y", "source(y)");
    has("gdb", "command script import -c x.py", "pyfile(x.py)");
    has("gdb", "dump binary memory m.bin 0 9", "write(m.bin)");
    has("gdb", "set logging file a.txt", "write(a.txt)");
    has("gdb", "call (int)unlink(\"a\")", "delete(a)");
    has("ex", ":set makeprg=ninja\\ -C\\ b", "exec(ninja -C b)");
    has("ex", ":exe \"norm :!x y\\<cr>\"", "exec(x y)");
    has("ex", ":mksession! a.vim", "write(a.vim)");
    has("ruby", "IO.readlines('|x y')", "pipe(x y)");
    has("ipython", "!rm x\nprint(1)", "exec(rm x)");
    has("m4", "syscmd(rm -rf x)", "exec(rm -rf x)");
    has("m4", "m4_esyscmd([echo (a); rm -rf x])", "exec(echo (a); rm -rf x)");
    has("m4", "AC_INIT([x], m4_esyscmd_s([rm -rf x]))", "exec(rm -rf x)");
    has("applescript", "do shell script \"rm x\" with administrator privileges", "exec(rm x)");
    has("applescript", "tell app \"Terminal\" to do script \"rm x\"", "exec(rm x)");
    has("applescript", "a.doShellScript('rm x')", "exec(rm x)");
    has("tcl", "spawn rm -rf x; interact", "exec(rm, -rf, x)");
    has("tcl", "if {1} { file delete -force x }", "delete(x)");
    has("tcl", "file delete {*}[glob x/*]", "delete(?)");
    has("tcl", "eval file delete [glob x/*]", "delete(?)");
    has("tcl", "exec rm {*}$files", "exec(rm, ?)");
    has("other", "Sys.command \"rm x\"", "command(rm x)");
    has("other", "(shell-command \"rm x\")", "shell-command(rm x)");
    has("other", ":! rm x\nx", "exec(rm x)");
    assert_eq!(seen("ex", "set nu\n12\n%s/a/b/g"), [""; 0]);
}

#[test]
fn another_way_to_a_function_is_that_function() {
    for text in [
        "import sys;sys.modules['os'].system('x')",
        "import os;os.__dict__['system']('x')",
        "import os;vars(os)['system']('x')",
        "import posix;posix.system('x')",
        "import shutil;shutil.os.system('x')",
        "getattr(__import__('o' + 's'), 'sys' + 'tem')('x')",
        "globals()['__builtins__'].__import__('os').system('x')",
        "import os;f=os.system;f('x')",
        "import os;list(map(os.system,['x']))",
        "import threading,os;threading.Thread(target=os.system,args=('x',)).start()",
        "import os;os.system('%s' % 'x')",
        "import os;os.system('{}'.format('x'))",
        "import os;c='';c+='x';os.system(c)",
    ] {
        has("python", text, "os.system(x)");
    }
    for text in [
        "import('child_process').then(c => c.execSync('x'))",
        "import('node:child_process').then(({execSync}) => execSync('x'))",
        "process.mainModule.require('child_process').execSync('x')",
        "globalThis.process.getBuiltinModule('child_process').execSync('x')",
        "require('child_process')[['exec', 'Sync'].join('')]('x')",
        "Reflect.apply(require('child_process').execSync, ...['x'])",
        "require('child_process').execSync.call(null, 'x')",
        "(0, require('child_process').execSync)('x')",
    ] {
        has("js", text, "child_process.execSync(x)");
    }
    has("js", "import {$} from 'bun'; await $`x y`.text()", "$(x y)");
    has("python", "import shlex,os;os.execvp(shlex.split('x y'))", "os.execvp(x, y)");
    has("python", "import subprocess;subprocess.run('x y'.split())", "subprocess.run(x, y)");
    has("js", "['a'].forEach(f => require('fs').unlinkSync(f))", "fs.unlinkSync(a)");
    has("js", "[].constructor.constructor('x')()", "Function(x)");
    for text in ["method(:system).call('x')", "Kernel.send(:system, 'x')", "Object.const_get(:Kernel).system('x')"] {
        has("ruby", text, "system(x)");
    }
    has("ruby", "%w[a].each { |f| system f }", "system(a)");
    has("ruby", "Dir['*'].each(&File.method(:delete))", "File.delete(?)");
    has("perl", "s//system q(x)/e", "system(x)");
    has("perl", "'x' =~ /(?{system 'x'})/", "system(x)");
    has("perl", "&{\"CORE::$_\"}('x') for 'system'", "system(x)");
    has("perl", "my $f = \\&CORE::system; $f->('x')", "system(x)");
    has("perl", "foreach my $f (<*>) { unlink $f }", "unlink(?)");
    has("php", "foreach (glob('*') as $f) unlink($f);", "unlink(?)");
    has("lua", "_G['os']['execute']('x')", "os.execute(x)");
    has("js", "require('module')._load('child_process').execSync('x')", "child_process.execSync(x)");
    has("mongo", "process.mainModule.require('child_process').execSync('x')", "execSync(x)");
    has("ruby", "['x'].each(&method(:system))", "system(x)");
    has("ruby", "c = ''; c << 'x'; system(c)", "system(x)");
    has("ruby", "Pathname.new('a').rmtree", "Pathname.rmtree(a)");
    has("other", "do.call('system', list('x'))", "system(x)");
    has("other", "new File('a').deleteDir()", "deleteDir(a)");
    has("other", "Directory('a').deleteSync(recursive: true)", "deleteSync(a, --recursive=true)");
    has("other", "listing('a'); deleteSync(recursive: true)", "deleteSync(--recursive=true)");
    has("other", "set output '|x'", "exec(x)");
    has("other", "Command::new(\"rm\").args([\"-rf\", \"x\"]).arg(\"y\")", "execute(rm, -rf, x, y)");
}

#[test]
fn texts_and_lists_that_double_are_followed_only_so_far() {
    for start in ["a = 'ab'\n", "a = ['ab']\n"] {
        let text = start.to_owned() + &"a = a + a\n".repeat(80) + "import os; os.remove(a)";
        assert!(seen("python", &text).iter().all(|call| call.len() < 100_000));
    }
    let text =
        "a = '{}{}'\n".to_owned() + &"a = a.format(a, a).replace('a', 'aaaa')\n".repeat(80) + "import os; os.remove(a)";
    has("python", &text, "os.remove(?)");
}

#[test]
fn a_call_of_a_function_that_is_worked_out_is_told_from_one_of_an_own_object() {
    has("python", "import os;getattr(os, name)('x')", "computed(os)");
    has("python", "import sys, subprocess\nsubprocess.run([sys.executable, 'x.py'])", "subprocess.run(python3, x.py)");
    has("js", "require('child_process').spawn(process.execPath, ['x.js'])", "child_process.spawn(node, x.js)");
    has("python", "().__class__.__mro__[1]", "function-value(__globals__)");
    assert_eq!(seen("python", "for c in self.__class__.__mro__:\n    c.__dict__[n].__get__(self)"), ["__get__(?)"]);
    has("js", "require('child_process')[name]('x')", "computed(child_process)");
    assert_eq!(seen("python", "getattr(obj, name)"), [""; 0]);
    assert_eq!(seen("js", "/(x)/.exec(text)[1]"), ["value.exec(?)"]);
    assert_eq!(seen("perl", "my %h = (s => 1, y => 2); $h{s}"), [""; 0]);
}

#[test]
fn code_that_is_read_from_a_file_is_that_file() {
    has("python", "exec(open('x.py').read())", "run-file(x.py)");
    has("python", "s = open('x.py').read()\nexec(compile(s, 'x.py', 'exec'))", "run-file(x.py)");
    has("python", "import ast\nt = ast.parse(open('x.py').read())\nexec(compile(t, 'x', 'exec'))", "run-file(x.py)");
    has("python", "exec(compile('import os', 'x', 'exec'))", "exec(import os)");
    has("js", "require('/x/y.js')", "run-file(/x/y.js)");
    has("perl", "do '/x/y.pl'", "run-file(/x/y.pl)");
    has("sql", "\\i /x/y.sql", "include(/x/y.sql)");
    has("ruby", "eval(File.read('x.rb'))", "run-file(x.rb)");
}

#[test]
fn the_environment_is_secret_where_it_is_shown_and_not_where_it_is_asked() {
    let shows = |language: &str, text: &str| seen(language, text).iter().any(|call| call == "show-secret()");
    for (language, text) in [
        ("python", "from os import environ as e;print(e)"),
        ("python", "import os;print(f\"x={os.environ['API_KEY']}\")"),
        ("python", "import os,json;print(json.dumps(dict(os.environ)))"),
        ("python", "import os\nfor k, v in os.environ.items():\n  print(k, v)"),
        ("js", "console.log(process['env'])"),
        ("js", "const {DB_PASSWORD} = process.env; console.log(DB_PASSWORD)"),
        ("ruby", "puts ENV['GITHUB_TOKEN']"),
        ("perl", "print \"$_=$ENV{$_}\" for keys %ENV"),
        ("php", "echo getenv('DB_PASSWORD');"),
        ("awk", "BEGIN { print ENVIRON[\"API_TOKEN\"] }"),
        ("python", "import os\nfor k in os.environ:\n  print(k, os.environ[k])"),
        ("python", "import os\nfor k in os.environ:\n  if k.startswith('AWS'): print(k, os.environ[k])"),
        ("python", "import os\nfor k in os.environ:\n  if k.startswith('A'): print(k, os.environ[k])"),
        ("python", "import os\nfor k in os.environ:\n  if not k.startswith('PY'): print(k, os.environ[k])"),
        ("python", "import os\nfor k in os.environ:\n  if k.startswith('PY'): pass\n  print(k, os.environ[k])"),
        ("python", "import os\nfor k in os.environ:\n  if k.startswith('PY'): continue\n  print(k, os.environ[k])"),
        ("python", "import os\nprint(os.environ['API_KEY'])\n[print(k) for k in x if k.startswith('PY')]"),
        ("python", "import os\n[print(os.environ[k]) for k in os.environ if k.startswith('PY') or True]"),
        ("js", "for (const k in process.env) if (!k.startsWith('npm_')) console.log(k, process.env[k])"),
        ("js", "for (const k in process.env) if (k.startsWith('GITHUB_')) console.log(k, process.env[k])"),
    ] {
        assert!(shows(language, text), "{text}");
    }
    for (language, text) in [
        ("python", "import os;print('set' if os.environ.get('API_KEY') else 'unset')"),
        ("python", "import os;print(os.environ['PATH'], 'API_KEY' in os.environ, len(os.environ))"),
        ("python", "import os;k=os.getenv('API_KEY') or ''\nprint(bool(k))"),
        ("js", "console.log(!!process.env.API_KEY, process.env.API_KEY ? 1 : 0)"),
        ("ruby", "puts ENV['HOME']"),
        ("awk", "BEGIN { print ENVIRON[\"USER\"] }"),
        ("python", "import os\nfor k in sorted(os.environ):\n  if k.startswith('PY'): print(k, os.environ[k])"),
        ("python", "import os\n[print(k, os.environ[k]) for k in os.environ if k.startswith('PY')]"),
        ("js", "for (const k in process.env) if (k.startsWith('npm_')) console.log(k, process.env[k])"),
        ("js", "Object.keys(process.env).filter(k=>k.startsWith('npm_')).forEach(k=>console.log(k, process.env[k]))"),
    ] {
        assert!(!shows(language, text), "{text}");
    }
}

#[test]
fn statements_and_commands_of_editors_say_which_files_they_write() {
    has("sql", "copy t to '/x/y'", "copy(t, --to=/x/y)");
    has("sql", "select 1 into outfile '/x/y'", "select-into-file(--to=/x/y)");
    has("sql", "select * from read_text('/x/y')", "select(--from=/x/y)");
    has("sql", ".open /x/y.db", "open(/x/y.db)");
    has("sql", "\\copy t to '/x/y'", "copy(t, --to=/x/y)");
    has("sql", "select 1 \\g /x/y", "copy(--to=/x/y)");
    has("sql", "pager rm x\nselect 1;", "shell(rm x)");
    has("sql", "tee /x/y", "copy(--to=/x/y)");
    has("sql", "set global general_log_file='/x/y'", "select-into-file(--to=/x/y)");
    has("sql", ".import /x/y t", "load(--from=/x/y)");
    has("sql", "source 'a.sql'; drop table t;", "include(a.sql)");
    has("sql", "source 'a.sql'; drop table t;", "drop(table, t)");
    for text in ["host rm x", "select 1;\nHOST rm x", "-- a\nhost rm x;", "select 1; -- a\n\nshell rm x"] {
        has("sql", text, "shell(rm x)");
    }
    for text in ["create table t (\nhost text,\nshell text\n);", "select 1;\nselect\nhost from t", "host"] {
        assert!(!seen("sql", text).iter().any(|call| call.starts_with("shell")), "{text}");
    }
    assert_eq!(seen("sql", "insert into t values ('to', '/x/y')"), ["insert(t)"]);
    has("ex", "autocmd VimEnter * !rm x", "exec(rm x)");
    has("python", "open('x', 'w').close()", "empty(x)");
    has("js", "require('fs').writeFileSync('x', '')", "empty(x)");
    has("awk", "BEGIN { printf \"\" > \"x\" }", "empty(x)");
    assert!(!seen("awk", "{ print > \"x\" }").contains(&"empty(x)".to_owned()));
    has("ex", "w! ~/.x", "write(/home/dev/.x)");
    for text in [",d\nw", ",d\nwq", "1,$d\nw!\nq"] {
        has("ex", text, "empties()");
    }
    for text in [",p\nq", "1d\nw", ",d\nq", "w\n,d"] {
        assert!(!seen("ex", text).contains(&"empties()".to_owned()), "{text}");
    }
    has("ex", "call delete('x', 'rf')", "delete(x)");
    has("ex", "call writefile(['x'], $HOME.'/.x')", "write(/home/dev/.x)");
    has("other", "[\"rm\", \"x\"].execute()", "execute(rm, x)");
    has("other", "eval(parse(text=\"system('x')\"))", "system(x)");
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
        ("perl", "s/x/s{"),
        ("perl", "&{"),
        ("js", "f(({a}) => "),
        ("ruby", "a { |x| "),
        ("other", "eval(\"parse("),
        ("php", "foreach ("),
    ] {
        let read = read(
            Language::of(language).unwrap(),
            &Source::known(&part.repeat(20_000)),
            World {
                home: "/home/dev",
                file: "",
                fetches: &|_| false,
                knows: &knows,
                acts: &|_| false,
                spend: &|_| true,
            },
        );
        assert!(read.calls.len() <= MAX_CALLS, "{language} {part}");
    }
}

#[test]
fn every_element_of_a_list_counts() {
    has("ruby", "FileUtils.rm_rf %w[a b]", "FileUtils.rm_rf(a, b)");
    has("ruby", "FileUtils.rm_rf(%w(a b))", "FileUtils.rm_rf(a, b)");
    has("ruby", "FileUtils.rm_r [\"a\", \"b\"], force: true", "FileUtils.rm_r(a, b, --force=true)");
    has("ruby", "%i[a b].each { |d| FileUtils.rm_rf d }", "FileUtils.rm_rf(a, b)");
    has("ruby", "system *%w[rm -rf a]", "system(rm, -rf, a)");
    has("perl", "unlink qw(a b)", "unlink(a, b)");
    has("perl", "File::Path::rmtree([qw/a b/])", "File.Path.rmtree(a, b)");
    has("python", "import shutil\nfor d in {'a', 'b'}: shutil.rmtree(d)", "shutil.rmtree(a, b)");
    has("python", "import os\nx = ['a']\nx.append('b')\nos.execv(x)", "os.execv(a, b)");
    has("python", "import os\nc = []\n[c.append(x) for x in ('a', 'b')]\nos.execv(c)", "os.execv(a, b)");
    has("python", "import os\n[os.system(l) for l in open('x')]", "os.system(?)");
    has("python", "import os\nfor l in open('x'): os.system(l)", "os.system(?)");
    has("python", "import os\nany(os.system(l) for l in open('x'))", "os.system(?)");
    has("js", "'a b'.split(' ').forEach(d => fs.rmSync(d))", "fs.rmSync(a, b)");
    has("php", "array_walk(['a', 'b'], 'system');", "system(a, b)");
    has("php", "foreach (explode(',', 'a,b') as $f) @unlink($f);", "unlink(a, b)");
}

#[test]
fn what_a_block_chooses_from_goes_on_behind_it() {
    has("ruby", "%w[a b].select { |f| File.file?(f) }.each { |f| File.delete f }", "File.delete(a, b)");
    has("ruby", "%w[a b].map { |f| f + 'x' }.each { |f| File.delete f }", "File.delete(ax, bx)");
    has("ruby", "%w[a b].map { |f| x(f); y }.each { |f| File.delete f }", "File.delete(?)");
    has("ruby", "Pathname('a').children.each(&:delete)", "Pathname.delete(?)");
    has("ruby", "require 'tmpdir'\nDir.mktmpdir { |d| FileUtils.rm_rf(d) }", "FileUtils.rm_rf(?)");
}

#[test]
fn settings_of_ruby_are_told_from_operands() {
    has("ruby", "Git.open('.').push('origin', 'main', force: true)", "Git.open.push(origin, main, --force=true)");
    has("ruby", "File.delete(x ? 'a' : 'b')", "File.delete(?)");
}

#[test]
fn a_statement_goes_with_the_file_that_its_client_opened() {
    let opened = "sqlite3.connect.execute(drop table t, --made=, --database=:memory:)";
    has("python", "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('drop table t')", opened);
    let cursor = "sqlite3.connect.cursor.execute(drop table t, --made=, --database=a.db)";
    has("python", "import sqlite3\nwith sqlite3.connect('a.db') as c:\n  c.cursor().execute('drop table t')", cursor);
    has("php", "$p = new PDO('sqlite::memory:'); $p->exec('x');", "PDO.exec(x, --database=:memory:)");
    has("python", "import psycopg2\npsycopg2.connect('a').execute('x')", "psycopg2.connect.execute(x, --made=)");
    has("python", "from sqlalchemy import text\nc.execute(text('drop table t'))", "c.execute(drop table t, --made=)");
}

#[test]
fn tables_are_the_codes_own_only_where_a_failure_stops_it() {
    has("python", "c.execute('create table t(a)')\nc.execute('drop table t')", "c.execute(drop table t, --made=t)");
    let again = "c.execute('create table if not exists t(a)')\nc.execute('drop table t')";
    has("python", again, "c.execute(drop table t, --made=)");
    let caught = "try: c.execute('create table t(a)')\nexcept: pass\nc.execute('drop table t')";
    has("python", caught, "c.execute(drop table t)");
}

#[test]
fn signals_in_a_loop_over_processes_are_told_by_what_chooses_them() {
    let many = |language, text| has(language, text, "kill-many()");
    many("python", "import os\nfor p in os.listdir('/proc'): os.kill(int(p), 9)");
    many("python", "import os\nfor p in range(2, 99): os.kill(p, 9)");
    many("python", "import psutil\n[p.kill() for p in psutil.process_iter()]");
    many("js", "for (let i = 2; i < 99; i++) process.kill(i, 9)");
    many("js", "fs.readdirSync('/proc').filter(p => +p).forEach(p => process.kill(p, 9))");
    many("ruby", "Dir['/proc/[0-9]*'].each { |d| Process.kill(9, File.basename(d).to_i) }");
    many("perl", "kill 9, $_ for 2..99");
    many("php", "for ($i = 2; $i < 99; $i++) posix_kill((int)$i, 9);");
    let named = "import psutil\nfor p in psutil.process_iter():\n  if p.name() == 'x': p.kill()";
    has("python", named, "kill-named(x)");
    for text in ["import os\nfor p in pids: os.kill(p, 9)", "import os\nos.kill(4711, 9)"] {
        assert!(!seen("python", text).iter().any(|call| call.starts_with("kill-")), "{text}");
    }
}

#[test]
fn names_that_a_listing_gives_are_any_names() {
    let found = |language: &str, text: &str, expected: &str| {
        let fetches = |_: &str| false;
        let calls = read(
            Language::of(language).unwrap(),
            &Source::known(text),
            World { home: "/home/dev", file: "", fetches: &fetches, knows: &knows, acts: &|_| false, spend: &|_| true },
        )
        .calls;
        let shown: Vec<String> = calls
            .iter()
            .flat_map(|call| &call.args)
            .map(|value| {
                let text = |piece: &Piece| match piece {
                    Piece::Text(text) | Piece::Glob(text) => text.clone(),
                    Piece::Unknown(unknown) => match &unknown.why {
                        UnknownReason::Found(Some(start)) => format!("<{start}>"),
                        _ => "?".to_owned(),
                    },
                };
                value.pieces().iter().map(text).collect()
            })
            .collect();
        assert!(shown.iter().any(|shown| shown == expected), "{expected} not in {shown:?} of {text}");
    };
    found("python", "import os\n[os.remove('a/' + f) for f in os.listdir('a')]", "a/*");
    found("python", "import os\nfor r, d, fs in os.walk('a'):\n  for f in fs: os.remove(os.path.join(r, f))", "<a>");
    let ending = "import os\nfor r, d, fs in os.walk('a'):\n  for f in fs:\n    if f.endswith('.x'): os.remove(os.path.join(r, f))";
    found("python", ending, "<a>/*.x");
    found("python", &format!("{ending}\n    os.remove(os.path.join(r, f))"), "<a>");
    found("js", "fs.readdirSync('a').forEach(f => fs.unlinkSync('a/' + f))", "a/*");
    found("ruby", "Dir.glob('{a,b}/**/*').each { |f| File.delete f }", "<b>");
    found("python", "from pathlib import Path\n[p.unlink() for p in Path('a').rglob('*.x')]", "<a>/*.x");
}

#[test]
fn words_of_a_command_may_stand_in_brackets() {
    has("python", "from plumbum import local\nlocal['rm']['-rf', 'a']()", "plumbum.local.rm(-rf, a)");
    has("python", "from git import Repo\nRepo('.').git.reset('--hard')", "git.Repo.git.reset(--hard)");
    has("js", "del.deleteSync(['a/**'])", "del.deleteSync(?)");
}

#[test]
fn options_in_an_object_are_told_by_their_names() {
    has("js", "git.push('a', {'--force': null, '--tags': false})", "git.push(a, --force)");
    has(
        "python",
        "from pathlib import Path\n[f.unlink() for f in sorted(Path('a').glob('*'))]",
        "pathlib.Path.unlink(?)",
    );
}

#[test]
fn what_is_written_for_readers_is_no_code() {
    assert_eq!(seen("perl", "=head1 X\n\nsystem 'rm x'\n\n=cut\nunlink 'a';"), ["unlink(a)"]);
    assert_eq!(seen("perl", "unlink 'a';\n__END__\nsystem 'rm x'\n"), ["unlink(a)"]);
    assert_eq!(seen("ruby", "=begin\nsystem 'rm x'\n=end\nsystem 'ls'"), ["system(ls)"]);
    has("perl", "my $x\n=system('rm x');", "system(rm x)");
    has("php", "proc_open(['rm', 'x'], [], $p);", "proc_open(rm, x)");
}

#[test]
fn a_parameter_is_not_what_its_name_stood_for() {
    has("python", "import os\np = 'a'\ndef f(x, p='b'):\n  os.remove(p)\nf(1, 'c')", "os.remove(?)");
    has("js", "const d = 'a'; function f(d) { fs.rmSync(d) } f('c')", "fs.rmSync(?)");
    has("php", "$d = 'a'; function f($d) { unlink($d); } f('c');", "unlink(?)");
    has("python", "import os\np = 'a'\ndef f(x):\n  os.remove(p)\nf(1)", "os.remove(a)");
}

#[test]
fn a_function_is_read_with_what_each_call_hands_it() {
    let clean = "import shutil\ndef clean(p):\n  shutil.rmtree(p)\n";
    let calls = seen("python", &format!("{clean}clean('a')\nclean('b')"));
    let removed: Vec<&String> = calls.iter().filter(|call| call.starts_with("shutil")).collect();
    assert_eq!(removed, ["shutil.rmtree(a)", "shutil.rmtree(b)"]);
    has("js", "function f(d) { fs.rmSync(d) } f('a')", "fs.rmSync(a)");
    has("python", "import subprocess\ndef run(c):\n  subprocess.run(c)\nrun('ls')", "subprocess.run(ls)");
    for other in ["clean('a')\nmap(clean, x)", "p = 'a'\nclean('a')", "clean(*x)", "clean(y)"] {
        has("python", &format!("{clean}{other}"), "shutil.rmtree(?)");
    }
    has("python", &format!("{clean}clean('a')\nclean(y)"), "shutil.rmtree(?)");
}

#[test]
fn what_is_interpolated_between_any_marks_is_worked_out() {
    has("perl", "$x = 'sys' . 'tem'; eval qq{$x 'a'}", "eval(system 'a')");
    has("perl", "system q{$x}", "system($x)");
    has("perl", "$d = 'a'; system(qq(rm \"$d\"))", "system(rm \"a\")");
    has("ruby", "d = 'a'; system %Q(rm #{d})", "system(rm a)");
    has("ruby", "d = 'a'; system %(rm #{d})", "system(rm a)");
    has("ruby", "system %q(rm #{d})", "system(rm #{d})");
    has("ruby", "d = 'a'\nsystem <<X\nrm #{d}\nX\n", "system(rm a\n)");
    has("ruby", "system <<'X'\nrm #{d}\nX\n", "system(rm #{d}\n)");
    has("ruby", "%x{rm #{d}}", "backtick(?)");
    has("lua", "load('\\111\\115.execute(\"a\")')", "load(os.execute(\"a\"))");
    assert_eq!(seen("ruby", "rest = count %(3)"), [""; 0]);
}

#[test]
fn code_whose_path_is_put_together_is_that_file() {
    has("perl", "$f = 'x.pl'; do \"./$f\"", "run-file(./x.pl)");
    has("perl", "require \"./$ENV{F}\"", "run-file(?)");
    has("ruby", "require './' + 'x'", "run-file(./x)");
    has("ruby", "require_relative 'x'", "run-file(./x)");
    assert_eq!(seen("ruby", "require 'json'"), [""; 0]);
    assert_eq!(seen("perl", "require Foo::Bar; do { 1 };"), [""; 0]);
    has("python", "import sys\nsys.path.insert(0, 'lib/')\nimport m", "import-module(lib/m)");
    has("python", "import sys\nsys.path.append('lib')\nimport m", "import-module(m)");
}

#[test]
fn a_function_that_is_named_by_a_text_is_that_function() {
    has("js", "eval('require')('child_process').execSync('a')", "child_process.execSync(a)");
    has("python", "import operator, os\noperator.methodcaller('system', 'a')(os)", "os.system(a)");
    has("python", "import operator, os\noperator.attrgetter('system')(os)('a')", "os.system(a)");
    has("ruby", "Object.send(x.join, 'a')", "computed(Kernel)");
    has("ruby", "File.public_send(x, 'a')", "computed(File)");
    let sends = |text: &str| seen("ruby", text).iter().any(|call| call.starts_with("computed"));
    assert!(!sends("File.send(:delete, 'a')"));
    assert!(!sends("puts x.join('send')"));
}

#[test]
fn a_function_that_is_handed_on_is_called_with_what_it_is_given() {
    has("python", "import os, sched\ns = sched.scheduler()\ns.enter(0, 1, os.system, ('a',))", "os.system(a)");
    has("js", "'a'.replace(/.+/, require('child_process').execSync)", "child_process.execSync(a)");
    has("lua", "('a'):gsub('.+', os.execute)", "os.execute(a)");
    has("php", "register_shutdown_function('exec', 'a');", "exec(a)");
    has("php", "iterator_apply($i, 'system', ['a']);", "system(a)");
    has("php", "Closure::fromCallable('shell_exec')('a');", "shell_exec(a)");
    has(
        "js",
        "new Function('r', 'r(`child_process`).execSync(`a`)')(require)",
        "Function(r(`child_process`).execSync(`a`))",
    );
    has("js", "r(`child_process`).execSync(`a`)", "child_process.execSync(a)");
    has("js", "require('left')", "import-package(node_modules/left)");
    has("js", "import x from 'https://x.org/y.ts'", "import(https://x.org/y.ts)");
    has("js", "import 'npm:x'", "import(npm:x)");
    has("js", "export * from 'https://x.org/y.ts'", "import(https://x.org/y.ts)");
    has("js", "export {a, b as c} from './y.js'", "run-file(./y.js)");
    has("js", "const a = 1; export {a}\nrequire('child_process').exec('rm x')", "child_process.exec(rm x)");
    assert_eq!(seen("js", "require('./left')"), ["run-file(./left)"]);
    assert_eq!(seen("js", "import './left.js'"), ["run-file(./left.js)"]);
    assert_eq!(seen("js", "import a, {b as c} from '../left.js'"), ["run-file(../left.js)"]);
    assert!(seen("js", "import a from 'left'").is_empty());
}

#[test]
fn a_function_of_the_c_library_is_lua_s_own_of_the_same_name() {
    let removes = |text: &str| {
        read(
            Language::Lua,
            &Source::known(text),
            World {
                home: "/home/dev",
                file: "",
                fetches: &|_| false,
                knows: &|_| false,
                acts: &|name| name.starts_with("os."),
                spend: &|_| true,
            },
        )
        .calls
        .iter()
        .any(|call| call.callee == "os.remove")
    };
    assert!(removes("local f = require 'ffi'; f.C.unlink('a')"));
    assert!(!removes("local f = require 'ffi'; f.C.system('a')"));
}

#[test]
fn code_knows_the_file_that_it_stands_in() {
    for (language, code, wanted) in [
        ("python", "import shutil\nshutil.rmtree(Path(__file__).parent / 'x')", "/home/dev/p/t/x"),
        ("python", "import shutil\nshutil.rmtree(Path(__file__).resolve().parents[1] / 'x')", "/home/dev/p/x"),
        (
            "python",
            "import os\nos.remove(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'x'))",
            "/home/dev/p/t/x",
        ),
        ("python", "import os\nos.remove(os.path.abspath(os.path.join(__file__, '../../x')))", "/home/dev/p/x"),
        ("python", "import os\nos.remove(Path(__file__).with_name('x'))", "/home/dev/p/t/x"),
        (
            "python",
            "import os\nfor n in ('x', 'y'):\n  os.remove(Path(__file__).parent / n)",
            "/home/dev/p/t/x, /home/dev/p/t/y",
        ),
        ("js", "fs.rmSync(path.join(__dirname, 'x'))", "/home/dev/p/t/x"),
        ("js", "fs.rmSync(path.resolve(__dirname, '..', 'x'))", "/home/dev/p/x"),
        ("js", "fs.rmSync(path.join(path.dirname(fileURLToPath(import.meta.url)), 'x'))", "/home/dev/p/t/x"),
        ("js", "fs.rmSync(path.join(import.meta.dirname, 'x'))", "/home/dev/p/t/x"),
        ("js", "fs.rmSync(new URL('./x', import.meta.url))", "file:///home/dev/p/t/./x"),
        ("ruby", "File.delete(File.expand_path('../x', __dir__))", "/home/dev/p/t/../x"),
        ("ruby", "File.delete(File.join(File.dirname(__FILE__), 'x'))", "/home/dev/p/t/x"),
        ("ruby", "File.delete(%w[x y].map { |d| File.join(__dir__, d) })", "/home/dev/p/t/x, /home/dev/p/t/y"),
        ("php", "unlink(__DIR__ . '/x');", "/home/dev/p/t/x"),
        ("php", "unlink(dirname(__FILE__, 2) . '/x');", "/home/dev/p/x"),
    ] {
        let calls = seen_in("/home/dev/p/t/a.x", language, code);
        assert!(calls.iter().any(|call| call.ends_with(&format!("({wanted})"))), "{code}: {calls:?}");
    }
}

#[test]
fn a_place_that_is_not_known_stays_unknown() {
    has("python", "import os\nos.remove(Path(__file__).parent / 'x')", "os.remove(?)");
    has("js", "fs.rmSync(path.join(__dirname, 'x'))", "fs.rmSync(?)");
    has("python", "import os\nos.remove(os.path.dirname(name))", "os.remove(?)");
}

#[test]
fn in_languages_without_a_reader_names_stand_for_what_is_assigned_to_them() {
    for (text, call) in [
        ("p := \"src\"; os.RemoveAll(p)", "remove_dir_all(src)"),
        ("dir, err := os.UserHomeDir()\nos.Remove(filepath.Join(dir, \"x\", \"y\"))", "remove_file(/home/dev/x/y)"),
        ("os.RemoveAll(os.Getenv(\"HOME\") + \"/docs\")", "remove_dir_all(/home/dev/docs)"),
        ("for _, p := range []string{\"a\", \"b\"} { os.Remove(p) }", "remove_file(a, b)"),
        ("let d: &str = \"src\"; std::fs::remove_dir_all(d).unwrap();", "remove_dir_all(src)"),
        (
            "let h = env::var(\"HOME\").unwrap(); fs::read_to_string(format!(\"{}/.ssh/id\", h))",
            "readFile(/home/dev/.ssh/id)",
        ),
        ("for d in [\"a\", \"b\"] { fs::remove_dir_all(d); }", "remove_dir_all(a, b)"),
        ("char *p = \"notes\"; unlink(p);", "remove_file(notes)"),
        ("char p[99]; snprintf(p, 99, \"%s/x\", getenv(\"HOME\")); remove(p);", "remove_file(/home/dev/x)"),
        ("char c[9] = \"rm -rf src\"; return system(c);", "system(rm -rf src)"),
        ("fopen(\"notes\", \"w\");", "writeFile(notes)"),
        ("fopen(\"notes\", \"r\");", "readFile(notes)"),
        ("int f = open(\"notes\", O_WRONLY | O_TRUNC);", "writeFile(notes)"),
        ("Path p = Paths.get(\"a\", \"b\"); Files.delete(p);", "remove_file(a/b)"),
        ("for (File f : new File(\"src\").listFiles()) { f.delete(); }", "remove_file(?)"),
        ("String t = \"src\"; new ProcessBuilder(\"rm\", \"-rf\", t).start();", "ProcessBuilder(rm, -rf, src)"),
        ("val d = File(\"src\"); d.deleteRecursively()", "remove_dir_all(src)"),
        ("Path.wildcard(\"s*\") |> Enum.each(&File.rm_rf!/1)", "remove_dir_all(?)"),
        ("do.call(paste0(\"sys\", \"tem\"), list(\"rm -rf src\"))", "system(rm -rf src)"),
        ("auto h = fs::path(getenv(\"HOME\")); fs::remove_all(h / \"docs\");", "remove_dir_all(/home/dev/docs)"),
    ] {
        has("other", text, call);
    }
}

#[test]
fn what_deletes_on_a_command_line_counts_whatever_it_falls_on() {
    for (text, call) in [
        ("\"src\" |> File.rm_rf!()", "remove_dir_all(?)"),
        ("new File(\"src\").eachFile { it.delete() }", "remove_file(?)"),
        ("(run! #(.delete %) files)", "remove_file(?)"),
        ("(mapc (function delete-file) (directory \"src/*\"))", "remove_file(?)"),
        ("mapM_ removeFile =<< listDirectory \"src\"", "remove_file(?)"),
        ("[file:delete(F) || F <- all()]", "remove_file(?)"),
        (".unlink for dir(\"src\")", "remove_file(?)"),
        ("cellfun(@delete, all)", "remove_file(?)"),
    ] {
        has("other", text, call);
        assert!(!seen_in("x.ex", "other", text).contains(&call.to_owned()), "a file is read for what it says: {text}");
    }
    for text in ["Map.delete(m, :a)", "list.remove(0)", "rm(list = ls())", "(remove nil? xs)", "print(delete)"] {
        assert!(!seen("other", text).iter().any(|call| call.starts_with("remove_")), "{text}");
    }
}

#[test]
fn what_names_stand_for_is_not_guessed() {
    for text in [
        "func clean(p string) { os.RemoveAll(p) }",
        "fn clean(p: &Path) { fs::remove_dir_all(p).unwrap(); }",
        "list.remove(key); map.delete(id);",
        "a == \"src\"; unlink(a);",
        "a => \"src\"; unlink(a);",
    ] {
        let all = seen_in("x.c", "other", text);
        assert!(!all.iter().any(|call| call.starts_with("remove_")), "{all:?} in {text}");
    }
    let temporary = "dir, _ := os.MkdirTemp(\"\", \"x\"); defer os.RemoveAll(dir)";
    assert!(seen("other", temporary).contains(&"remove_dir_all(?)".to_owned()), "it is told as temporary");
}

#[test]
fn text_that_is_turned_around_is_known() {
    has("python", "import os; getattr(os, 'metsys'[::-1])('x')", "os.system(x)");
    has("python", "import os; getattr(os, 'metsys'[::- 1])('x')", "os.system(x)");
    has("python", "import os; getattr(os, ''.join(reversed('metsys')))('x')", "os.system(x)");
    has("php", "$f = strrev('metsys'); $f('x');", "system(x)");
    has("perl", "open F, '>', $_ for <x/*>", "open.write(?)");
    has("perl", "for my $f (<x/*>) { open(my $h, '+<:utf8', $f) }", "open.write(?)");
    has("perl", "exec {'/bin/rm'} ('ls', '-rf', 'src');", "exec(/bin/rm, -rf, src)");
    has("perl", "system {'/bin/rm'} 'ls', '-rf', 'src';", "system(/bin/rm, -rf, src)");
}

#[test]
fn files_that_other_languages_write_are_found_at_their_positions() {
    // Arguments by position and by name.
    has("other", "write.csv(mtcars, \"a.csv\")", "writeFile(a.csv)");
    has("other", "write.csv(mtcars, file = \"a.csv\", row.names = FALSE)", "writeFile(a.csv)");
    has("other", "png(filename = \"a.png\")", "writeFile(a.png)");
    has("other", "cp(\"a\", \"b\"; force = true)", "writeFile(b)");
    has("other", "os.Rename(from, \"b\")", "rename(?, b)");
    has("other", "file:rename(\"a\", \"b\")", "rename(a, b)");
    has("other", "new java.io.FileWriter(\"a\").close()", "writeFile(a)");
    assert!(!seen("other", "write.csv(x, name)").iter().any(|call| call.starts_with("writeFile")));
    // The object of a method, and of a member to which a value is assigned.
    has("other", "new File(\"a\").writeText(\"b\")", "writeFile(a)");
    has("other", "new File(\"a\").text = \"b\"", "writeFile(a)");
    has("other", "\"a\".IO.spurt(\"b\")", "writeFile(a)");
    assert!(!seen("other", "println(new File(\"a\").text)").iter().any(|call| call.starts_with("writeFile")));
    assert!(!seen("other", "new File(\"a\").text == \"b\"").iter().any(|call| call.starts_with("writeFile")));
    // Calls without brackets around their arguments, or with the name in them.
    has("other", "let c = open_out \"a\"", "writeFile(a)");
    has("other", "(spit \"a\" \"b\")", "writeFile(a)");
    has("other", "(clojure.java.io/copy (slurp \"a\") (java.io.File. \"b\"))", "writeFile(b)");
    has("other", "(open \"a\" :direction :output :if-exists :supersede)", "writeFile(a)");
    has("other", "(with-open-file (s \"a\" :direction :output) (print 1 s))", "writeFile(a)");
    has("other", "(with-open-file (s \"a\") (read s))", "readFile(a)");
    has("other", "File.rename! \"a\", \"b\"", "rename(a, b)");
    has("other", "close(file(\"a\", \"w\"))", "writeFile(a)");
    // The file is only named, and may be the one that is written.
    assert!(!seen("other", "(copy (file \"a\") (file \"b\"))").iter().any(|call| call == "readFile(b)"));
    // Words for writing count only in the arguments.
    has("other", "open(\"a\", [:write])", "writeFile(a)");
    assert!(!seen("other", "f(open(\"a\"), write)").iter().any(|call| call == "writeFile(a)"));
}

#[test]
fn files_are_opened_by_flags_and_modes_of_each_language() {
    has("perl", "sysopen(my $f, 'a', O_WRONLY|O_TRUNC)", "open.write(a)");
    has("perl", "sysopen F, 'a', O_WRONLY|O_APPEND", "open.append(a)");
    has("perl", "IO::File->new('a', 'w')", "open.write(a)");
    has("perl", "IO::File->new('>a')", "open.write(a)");
    assert!(!seen("perl", "IO::File->new('a')").iter().any(|call| call.starts_with("open.")));
    has("php", "new SplFileObject('a', 'w');", "open.write(a)");
    has("php", "(new SplFileInfo('a'))->openFile('w');", "open.write(a)");
    has("ruby", "File.new('a', File::TRUNC|File::WRONLY)", "open.write(a)");
    has("ruby", "$stdout.reopen('a', 'w')", "open.write(a)");
    assert!(!seen("ruby", "File.new('a', 'r')").iter().any(|call| call.starts_with("open.")));
    has("js", "Deno.openSync('a', { write: true, truncate: true })", "open.write(a)");
    assert!(!seen("js", "Deno.openSync('a', { read: true })").iter().any(|call| call.starts_with("open.")));
}

#[test]
fn debuggers_and_scripts_load_libraries_and_set_variables() {
    has("gdb", "plugin load ./a.so", "load-library(./a.so)");
    has("gdb", "set environment LD_PRELOAD ./a.so", "set-variable(LD_PRELOAD=./a.so)");
    assert_eq!(seen("gdb", "set pagination off"), [""; 0]);
    assert_eq!(seen("gdb", "plugin list"), [""; 0]);
    has("ex", "call libcall('./a.so', 'f', 1)", "load-library(./a.so)");
    has("tcl", "load ./a.so", "load(./a.so)");
    has("tcl", "file copy -force -- a b", "copy-file(a, b)");
    has("tcl", "file rename a b", "move-file(a, b)");
}

#[test]
fn what_a_promise_gives_is_not_the_function_that_promised_it() {
    for text in [
        "fs.readFile('a').then(t => fs.writeFile('b', t))",
        "fs.readFile('a').then(function (t) { fs.writeFile('b', t) })",
    ] {
        has("js", text, "fs.writeFile(b, ?)");
        assert!(!seen("js", text).contains(&"fs.readFile(b)".to_owned()), "{text}");
    }
}

#[test]
fn a_function_that_is_timed_is_no_code() {
    for text in
        ["timeit.timeit(lambda: f(1), number=5)", "timeit.repeat(f, repeat=3)", "g = lambda: 1\ntimeit.timeit(g)"]
    {
        let calls = seen("python", &format!("import timeit\n{text}"));
        assert!(!calls.iter().any(|call| call.starts_with("timeit.") && call.contains('?')), "{calls:?}");
    }
    has("python", "import timeit, os\ntimeit.timeit(lambda: os.system('x'))", "os.system(x)");
    has("python", "import timeit\ntimeit.timeit('f()')", "timeit.timeit(f())");
    has("python", "import timeit\ntimeit.timeit(input())", "timeit.timeit(?)");
}

#[test]
fn subclasses_are_listed_but_not_selected() {
    let value = "function-value(__globals__)".to_owned();
    for text in [
        "for s in B.__subclasses__(): print(s)",
        "x = [s for s in c.__subclasses__()]",
        "class A(object): pass\nA.__subclasses__()",
    ] {
        assert!(!seen("python", text).contains(&value), "{text}");
    }
    for text in [
        "().__class__.__base__.__subclasses__()",
        "object.__subclasses__()",
        "c.__subclasses__()[40]('x')",
        "type(x).mro()[-1].__subclasses__()",
        "type.__subclasses__(type)",
        "def w(c): return c.__subclasses__()\nw(object)",
        "f.__globals__",
        "x.__mro__[1]",
    ] {
        assert!(seen("python", text).contains(&value), "{text}");
    }
}

#[test]
fn a_statement_of_which_nothing_is_known_is_not_read() {
    let unknown = |language: &str, code: &str| {
        let pieces = code.split('@').flat_map(|text| [super::unknown(), Value::text(text)]).skip(1);
        let code = Value::join(&pieces.collect::<Vec<_>>(), "");
        let language = Language::of(language).unwrap();
        let world =
            World { home: "", file: "", fetches: &|_| false, knows: &|_| true, acts: &|_| false, spend: &|_| true };
        read(language, &Source::of(&code).unwrap(), world).unknown
    };
    for (language, code) in [
        ("python", "@\nb = 1"),
        ("python", "b = 1\n    @\n"),
        ("python", "b = 1; @"),
        ("js", "if (a) { @ }"),
        ("js", "@; a()"),
        ("ruby", "a()\n@\n"),
    ] {
        assert!(unknown(language, code), "{language}: {code}");
    }
    for (language, code) in [
        ("python", "b = @"),
        ("python", "b = '''\n@\n'''"),
        ("python", "b = [\n@\n]"),
        ("python", "b = {\n@\n}"),
        ("python", "import @"),
        ("python", "@()"),
        ("python", "b = 1"),
        ("js", "a(@)"),
        ("sql", "@; select 1"),
    ] {
        assert!(!unknown(language, code), "{language}: {code}");
    }
}

#[test]
fn a_call_of_a_listed_member_is_not_known() {
    let listed = |module: &str| format!("function-value({module})");
    for (language, code, module) in [
        ("js", "Object.values(require('child_process')).find(f => f.name == n)('x')", "child_process"),
        ("js", "const c = require('fs'); Object.entries(c).forEach(([k, f]) => f('x'))", "fs"),
        ("js", "new Map(Object.entries(require('child_process'))).get('execSync')('x')", "child_process"),
        ("python", "import os; [f for n, f in vars(os).items() if n == 's'][0]('x')", "os"),
        ("python", "import os; next(v for k, v in os.__dict__.items())('x')", "os"),
        ("python", "import os; d = {**vars(os)}; d['system']('x')", "os"),
        ("python", "import inspect, shutil as s; dict(inspect.getmembers(s))['rmtree']('x')", "shutil"),
        ("python", "import os; os.__dict__.get('system')('x')", "os"),
        ("lua", "for k, v in pairs(os) do v('x') end", "os"),
        ("php", "foreach (get_defined_functions()['internal'] as $f) $f('x');", "get_defined_functions"),
    ] {
        has(language, code, &listed(module));
    }
    has("python", "import os; vars(os)['system']('x')", "os.system(x)");
    for (language, code) in [
        ("js", "Object.values(require('./own')).map(f => f('x'))"),
        ("python", "import os; os.environ.items()"),
        ("python", "import os; print(dir(os))"),
        ("python", "import argparse; vars(args).items()"),
        ("lua", "for k, v in pairs(t) do print(k) end"),
    ] {
        assert!(!seen(language, code).iter().any(|call| call.starts_with("function-value")), "{code}");
    }
    has("ruby", "Kernel.instance_method(:system).bind_call(self, 'x')", "system(x)");
}
