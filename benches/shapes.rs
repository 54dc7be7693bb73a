//! Measures lines that could cause superlinear work: CPU time and peak memory of a whole process for each, with a
//! budget of 100 ms and 64 MiB. Nothing is executed.
//!
//! `cargo bench --bench shapes`
//!
//! The exit code is 1 if a line exceeds the budget in each of several processes.

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use std::{fs, io};

const GUARD: &str = env!("CARGO_BIN_EXE_guard");
const MOST_TIME: Duration = Duration::from_millis(100);
const MOST_KIB: i64 = 64 * 1024;
/// The number of processes, of which the fastest counts, because other work on the machine only makes them slower.
const ROUNDS: usize = 5;
/// The lengths of the lines, in bytes. The longest is the kernel's limit for one argument.
const LENGTHS: [usize; 3] = [8 * 1024, 32 * 1024, 127 * 1024];

/// A function that returns a line of about this number of bytes.
type Shape = fn(usize) -> String;

/// Joins parts until the length is reached.
fn parts(length: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    let mut line = String::new();
    for number in 0.. {
        let part = part(number);
        if line.len() + part.len() + between.len() > length {
            break;
        }
        if number > 0 {
            line.push_str(between);
        }
        line.push_str(&part);
    }
    line
}

/// Returns a line that sets a long value or list once and then uses it repeatedly.
fn used(length: usize, set: &str, uses: &str) -> String {
    format!("{set};{}", parts(length.saturating_sub(set.len()), ";", |_| uses.to_owned()))
}

const SHAPES: &[(&str, Shape)] = &[
    ("commands", |n| parts(n, ";", |i| format!("ls d{i}"))),
    ("words", |n| format!("rm -rf {}", parts(n, " ", |i| format!("f{i}.txt")))),
    ("globs", |n| format!("rm {}", parts(n, " ", |i| format!("*{i}?[a-z]*")))),
    ("pipes", |n| parts(n, "|", |_| "cat".to_owned())),
    ("filters", |n| format!("cat x|{}", parts(n, "|", |_| "tr a-z b-za".to_owned()))),
    ("git", |n| parts(n, ";", |i| format!("git status d{i}"))),
    ("pushes", |n| parts(n, ";", |i| format!("git push origin b{i}"))),
    ("archives", |n| parts(n, ";", |i| format!("tar xf a{i}.tar"))),
    ("copies", |n| parts(n, ";", |i| format!("cp a{i} b{i}"))),
    ("links", |n| parts(n, ";", |i| format!("ln -s d{i} l{i};rm -rf l{i}/x"))),
    ("directories", |n| parts(n, "&&", |i| format!("cd d{i}"))),
    ("made and deleted", |n| parts(n, ";", |i| format!("mkdir d{i};rm -rf d{i}"))),
    ("assignments", |n| parts(n, ";", |i| format!("a{i}=v{i};rm $a{i}"))),
    ("doubling", |n| format!("a0=x;{};rm -rf $a9", parts(n, ";", |i| format!("a{}=$a{i}$a{i}", i + 1)))),
    ("elements", |n| format!("a=();{};rm -rf \"${{a[@]}}\"", parts(n, ";", |i| format!("a+=(x{i})")))),
    ("a text that grows", |n| format!("{};rm $x", parts(n, ";", |_| "printf -v x '%s%s' \"$x\" a".to_owned()))),
    ("ways", |n| format!("{};rm -rf $x", parts(n, ";", |i| format!("if t;then x=v{i};fi")))),
    ("cases", |n| format!("case $x in {} esac;rm -rf $y", parts(n, "", |i| format!("p{i})y={i};;")))),
    ("functions", |n| format!("f0(){{ rm x;}};{};f9", parts(n, ";", |i| format!("f{}(){{ f{i};f{i};}}", i + 1)))),
    ("calls", |n| format!("f(){{ rm $1;ls;}};{}", parts(n, ";", |_| "f".to_owned()))),
    ("loops", |n| parts(n, ";", |i| format!("for i in {i};do rm $i;done"))),
    ("here-documents", |n| parts(n, "\n", |i| format!("cat <<E{i} >f{i}\nx\nE{i}"))),
    ("scripts written", |n| parts(n, "\n", |i| format!("cat <<E >f{i}\nrm x{i}\nE\nbash f{i}"))),
    ("files", |n| format!("ls {}", parts(n, " ", |i| format!(">f{i}")))),
    ("wrappers", |n| format!("{} rm x", parts(n, " ", |_| "sudo".to_owned()))),
    ("commands of a search", |n| format!("find . {}", parts(n, " ", |i| format!("-exec rm x{i} {{}} \\;")))),
    ("tests of a search", |n| format!("find . {} -delete", parts(n, " -o ", |i| format!("-name x{i}")))),
    ("commands of input", |n| format!("ls|{}", parts(n, "|", |_| "xargs -I{} sh -c 'rm {}'".to_owned()))),
    ("letters of an option", |n| format!("rm -{} x", parts(n, "", |_| "rf".to_owned()))),
    ("addresses", |n| format!("curl {}", parts(n, " ", |i| format!("https://h{i}.example/a?b=c{i}")))),
    ("volumes", |n| format!("docker run {} img", parts(n, " ", |i| format!("-v /a{i}:/b{i} --privileged")))),
    ("calls of code", |n| format!("python3 - <<E\n{}\nE\n", parts(n, "\n", |i| format!("os.remove('f{i}')")))),
    ("traps", |n| parts(n, ";", |i| format!("trap 'rm x{i}' EXIT"))),
    ("code in a variable", |n| used(n, &format!("x='{}'", "a=1;".repeat(n / 8)), "python3 -c \"$x\"")),
    ("edits in a variable", |n| used(n, &format!("x='{}'", "s/a/b/;".repeat(n / 14)), "sed -i \"$x\" f")),
    ("statements in a variable", |n| used(n, &format!("x='{}'", "select 1;".repeat(n / 18)), "psql -c \"$x\"")),
    ("a slice of an array", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "echo \"${a[@]:1:3}\"")),
    ("a length of an array", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "rm f${#a[@]}")),
    ("joined elements", |n| used(n, &format!("a=({})", "x ".repeat(n / 4)), "x=\"${a[*]}\"")),
    ("loops over an array", |n| {
        let array = parts(n / 2, " ", |i| format!("f{i}"));
        used(n, &format!("a=({array})"), "for i in \"${a[@]}\";do rm $i;done")
    }),
    ("a long path", |n| used(n, &format!("x={}", "../a/".repeat(n / 10)), "rm -rf $x")),
    ("a long word", |n| used(n, &format!("x={}", "a".repeat(n / 2)), "echo $x")),
    ("a long address", |n| used(n, &format!("x={}", "a".repeat(n / 2)), "curl h/$x")),
    ("packages that run", |n| parts(n, ";", |i| format!("npx t{i}"))),
    ("scripts of a package", |n| parts(n, ";", |i| format!("npm run t{i}"))),
    ("settings of one command", |n| format!("git {} push", parts(n, " ", |i| format!("-c a.b{i}=c")))),
    ("open descriptors", |n| format!("exec {}", parts(n, " ", |i| format!("{}>f{i}", i + 3)))),
    ("directories of programs", |n| {
        format!(
            "PATH={}:$PATH;{}",
            parts(n / 2, ":", |i| format!("./t{i}")),
            parts(n / 2, ";", |i| format!("cmd{i} x"))
        )
    }),
];

/// Returns the resources that one process used to judge a line: CPU time, and peak memory in KiB.
fn judged(line: &str) -> io::Result<(Duration, i64)> {
    let home = tempfile::tempdir()?;
    let input = home.path().join("lines");
    fs::write(&input, format!("{}\n", serde_json::json!({ "command": line, "cwd": home.path() })))?;
    let mut command = Command::new(GUARD);
    command.args(["check", "--batch"]).env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
    command.env("SHELL", "/bin/bash").stdin(fs::File::open(&input)?).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn()?;
    let mut status = 0;
    // SAFETY: all zeros are a valid value of the type, and both places outlive the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the process is a child of this one that nobody else waits for.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) > 1 {
        return Err(io::Error::other(format!("it ended with {status}")));
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    Ok((time(usage.ru_utime) + time(usage.ru_stime), usage.ru_maxrss))
}

fn main() -> io::Result<ExitCode> {
    let mut over = 0;
    for (name, shape) in SHAPES {
        let mut is_over = false;
        print!("{name:<24}");
        for length in LENGTHS {
            let line = shape(length);
            let (mut time, mut memory) = (Duration::MAX, i64::MAX);
            for _ in 0..ROUNDS {
                let (took, held) = judged(&line)?;
                (time, memory) = (time.min(took), memory.min(held));
                if time <= MOST_TIME {
                    break;
                }
            }
            is_over |= time > MOST_TIME || memory > MOST_KIB;
            print!("  {:>3} KiB {:>4} ms {:>3} MiB", length / 1024, time.as_millis(), memory / 1024);
        }
        println!("{}", if is_over { "  over the budget" } else { "" });
        over += usize::from(is_over);
    }
    println!("{over} of {} lines over the budget of 100 ms and 64 MiB", SHAPES.len());
    Ok(if over == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
