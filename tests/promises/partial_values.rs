//! Tests partially known values, values that the line itself created, and lists that are passed on.

use guard::judge::risk::Tier;

use super::matching::{findings, project, tier_in};

#[track_caller]
fn all(lines: &[&str], is: impl Fn(Tier) -> bool) {
    let fixture = project();
    let wrong: Vec<(Tier, &&str)> =
        lines.iter().map(|line| (tier_in(&fixture, line), line)).filter(|(tier, _)| !is(*tier)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_list_is_deleted_whoever_it_is_handed_to() {
    all(
        &[
            "ls -d */ | xargs -I{} sh -c 'rm -rf \"{}\"'",
            "ls -d */ | xargs -I{} bash -c 'd=\"{}\"; rm -rf \"$d\"'",
            "for d in */; do sh -c \"rm -rf '$d'\"; done",
            "parallel rm -rf ::: */",
            "printf '%s\\n' target src | xargs -I{} sh -c 'rm -rf {}'",
            "printf '%s\\n' target src | xargs -I{} sh -c 'rm -rf \"$1\"' _ {}",
            "printf '%s\\n' target src | xargs -n1 sh -c 'rm -rf \"$0\"'",
            "printf '%s\\n' target src | parallel 'rm -rf {}'",
        ],
        |tier| tier >= Tier::High,
    );
    all(
        &[
            "printf '%s\\n' target | xargs -I{} sh -c 'rm -rf {}'",
            "ls -d */ | xargs -I{} sh -c 'echo \"{}\"; ls \"{}\"'",
            "for f in src/*; do sh -c \"wc -l '$f'\"; done",
            "parallel -j4 'gzip -k {}' ::: src/*.rs",
        ],
        |tier| tier <= Tier::Low,
    );
}

#[test]
fn recipes_that_the_line_gives_are_read() {
    all(
        &[
            "make -f /dev/null --eval 'x:;rm -rf src' x",
            "make --eval=$'x:\\n\\trm -rf src' x",
            "make --eval '$(shell rm -rf src)'",
            "printf 'include x.mk\\n' > Makefile; printf 'all:\\n\\trm -rf src\\n' > x.mk; make",
            "printf '%%.o:\\n\\trm -rf src\\n' | make -f - x.o",
            "sed -i 's/\"build\": \".*\"/\"build\": \"rm -rf src\"/' package.json && npm run build",
            "printf 'from invoke import task\\n@task\\ndef x(c):\\n    c.run(\"rm -rf src\")\\n' > tasks.py; invoke x",
            "printf 'X != rm -rf src\\nall:;echo\\n' | make -f -",
            "npm pkg set scripts.x='rm -rf src' && npm run x",
            "npm pkg set scripts.pretest='rm -rf src' && npm test",
            "npm set-script x 'rm -rf src' && npm run x",
            "printf 'tasks:\\n  x:\\n    cmds:\\n      - rm -rf src\\n' > Taskfile.yml; task x",
            "printf '[testenv]\\ncommands = rm -rf src\\n' > tox.ini && tox",
            "echo '{\"scripts\":{\"x\":\"rm -rf src\"}}' > composer.json && composer run-script x",
            "echo '{\"tasks\":{\"x\":\"rm -rf src\"}}' > deno.json && deno task x",
            "printf 'task :x do\\n  sh \"rm -rf src\"\\nend\\n' > Rakefile; rake x",
            "printf '[tasks.x]\\nrun = \"rm -rf src\"\\n' > .mise.toml; mise run x",
            "printf 'web: rm -rf src\\n' > Procfile; foreman start",
            "echo 'execute_process(COMMAND rm -rf src)' > CMakeLists.txt; cmake .",
        ],
        |tier| tier >= Tier::High,
    );
    all(
        &[
            "make -f /dev/null --eval 'x:;echo hi' x",
            "npm pkg set scripts.x='jest --coverage' && npm run x",
            "npm pkg set scripts.x='rm -rf src' scripts.y='echo y' && npm run y",
            "npm pkg set scripts.x='rm -rf src' && npm pkg set scripts.x='echo x' && npm run x",
            "printf 'tasks:\\n  x:\\n    cmds: [rm -rf src]\\n  y:\\n    cmds:\\n      - echo y\\n' > Taskfile.yml; task y",
            "printf '[testenv]\\ncommands = pytest\\n' > tox.ini && tox",
        ],
        |tier| tier <= Tier::Low,
    );
}

#[test]
fn what_the_line_named_by_a_number_is_its_own() {
    all(
        &[
            "f=/tmp/b.$RANDOM.c; echo 'int main(){}' > $f && cc -o ${f%.c} $f && ${f%.c}; rm -f $f ${f%.c}",
            "f=$(mktemp --suffix=.c); echo 'int main(){}' > $f; cc -o \"${f%.c}\" $f && \"${f%.c}\"; rm -f $f",
            "s=/tmp/s-$(date +%s).sh; echo 'echo hi' > $s; sh $s; rm -f $s",
            "s=/tmp/s.$$.sh; printf '#!/bin/sh\\necho hi\\n' > $s; chmod +x $s; $s; rm $s",
            "git clone -q . /tmp/c.$$ && (cd /tmp/c.$$ && git clean -fdx && git reset --hard) && rm -rf /tmp/c.$$",
            "git clone -q . /tmp/c-$$; git -C /tmp/c-$$ reset --hard",
            "v=/tmp/v.$$; python3 -m venv $v && . $v/bin/activate; rm -rf $v",
            "git clone -q . /tmp/c.$$ && cd /tmp/c.$$ && git branch -D x",
            "d=$(mktemp -d) && git init -q $d && cd $d && git stash && git stash drop",
            "git worktree add /tmp/w.$$ HEAD && git worktree remove --force /tmp/w.$$",
            "sqlite3 /tmp/t.$$.db 'create table u(id); drop table u'",
            "w=/tmp/w-${RANDOM}; mkdir $w && rsync -a --delete src/ $w/ && rm -rf $w",
            "rm -rf \"/tmp/foo_$(id -un)_$(hostname)\"",
            "t=/tmp/t$(date +%s%N | md5sum | head -c 8); mkdir $t; rm -rf $t",
            "t=/tmp/t$(tr -dc a-z0-9 < /dev/urandom | head -c 8); mkdir $t; rm -rf $t",
            "new() { printf '/tmp/%s-%d' \"$1\" \"$$\"; }; x=$(new a); touch $x; rm -f $x",
        ],
        |tier| tier <= Tier::Low,
    );
    all(
        &[
            "echo true > /tmp/x.$RANDOM; sh /tmp/x.$RANDOM",
            "s=/tmp/s.$RANDOM.sh; echo 'rm -rf src' > $s; sh $s",
            "/tmp/x.$RANDOM",
            "d=/tmp/x.$$; mkdir $d; mv src $d/; rm -rf $d",
            "d=/tmp/x.$$; ln -s \"$PWD\" $d; rm -rf $d/src",
            "cd /tmp/x.$$; rm -rf *",
            "cd /tmp/x.$$ && cd - && rm -rf *",
            "d=/tmp/c.$$; git clone . $d; cd $d; git -C \"$OLDPWD\" reset --hard",
            "d=$(mktemp -d); ln -s \"$PWD\" \"$d/l\"; cd \"$d/l\" && git clean -fdx",
            "d=$(mktemp -d); mv src \"$d\"; cd \"$d\" && rm -rf src",
            "d=/tmp/x.$$; mkdir $d; printf 'x:\\n\\trm -rf /home/dev\\n' > $d/Makefile; make -C $d x",
            ". /tmp/x.$RANDOM/activate",
            "sqlite3 ./t.$$.db 'drop table u'",
            "rm -rf \"/tmp/x.$$/../../home\"",
            "rm -rf \"$(hostname)\"",
        ],
        |tier| tier >= Tier::Medium,
    );
}

#[test]
fn a_name_with_a_number_in_it_is_one_name() {
    let fixture = project();
    assert!(tier_in(&fixture, "docker rm -f test_$$") < tier_in(&fixture, "docker rm -f $(docker ps -aq)"));
    assert_eq!(tier_in(&fixture, "n=test_$RANDOM; docker rm -f $n"), tier_in(&fixture, "docker rm -f test_1"));
    assert!(tier_in(&fixture, "docker rm -f \"$NAME\"") >= Tier::High);
}

#[test]
fn a_part_of_a_name_is_cut_as_a_shell_cuts_it() {
    all(
        &[
            "f=/tmp/x.$$.tar.gz; rm -rf \"${f%.tar.gz}\"",
            "f=/tmp/x.$$.tar.gz; rm -rf \"/tmp/$(basename $f .tar.gz)\"",
            "f=/tmp/x.$$.c; rm -f \"/tmp/${f##*/}\"",
            "f=/tmp/a.$$; rm ${f/a/b}",
            "f=/tmp/A.$$; rm ${f,,}",
            "f=$(mktemp -d)/x.c; rm -rf \"$(dirname \"$f\")\" \"${f%/*}\" \"${f%.c}.o\"",
        ],
        |tier| tier <= Tier::Low,
    );
    all(
        &[
            "f=src.$$; rm -rf \"${f%.*}\"",
            "f=src-$(date +%F); rm -rf \"${f%%-*}\"",
            "f=/tmp/x.$$; rm -rf \"${f%/*}\"",
            "f=$(mktemp); rm -rf \"$(dirname \"$f\")\"",
            "f=$(mktemp); rm -rf \"${f%/*}\"",
            "f=./x.$$; rm -rf \"$(dirname \"$f\")\"",
            "d=$(mktemp -d); rm -rf \"${d:0:1}\"",
        ],
        |tier| tier >= Tier::High,
    );
}

#[test]
fn what_mktemp_made_stays_so_whoever_hands_it_on() {
    all(
        &[
            "read -r d <<< \"$(mktemp -d)\"; rm -rf \"$d\"",
            "mktemp -d | xargs rm -rf",
            "mktemp -d | while read d; do rm -rf \"$d\"; done",
            "d=$(mktemp -d); find \"$d\" -name '*.o' | xargs rm -f",
            "d=$(mktemp -d); ls \"$d\" | xargs -I{} rm -rf \"$d/{}\"",
            "f=$(mktemp); mv $f $f.c; rm -f $f.c",
            "mapfile -t t < <(mktemp); rm -f \"${t[@]}\"",
            "t=$(mktemp) && git diff > $t && git stash -q && git stash pop -q; rm -f $t",
            "d=$(mktemp -d); git worktree add \"$d/w\" HEAD; git worktree remove --force \"$d/w\"",
            "c() { rm -rf \"$T\"; }; trap c EXIT; T=$(mktemp -d); ls \"$T\"",
            "trap 'rm -f \"$T\"' EXIT; T=$(mktemp)",
            "mkdir -p pkg/a && mv src/main.rs pkg/a/main.rs",
        ],
        |tier| tier <= Tier::Low,
    );
    all(
        &[
            "d=$(mktemp -d); ls \"$d\" | xargs rm -rf",
            "d=$(mktemp -d); mv src \"$d\"; mv \"$d\" \"$d.bak\"; rm -rf \"$d.bak\"",
            "f=$(mktemp); mv notes.txt \"$f\"; rm \"$f\"",
            "echo \"src $$\" | xargs rm -rf",
            "c() { rm -rf \"$T\"; }; trap c EXIT; T=src",
            "c() { rm -rf \"$T\"; }; trap c EXIT; ls",
            "c() { rm -rf \"$T\"/*; }; trap c EXIT; T=$(mktemp -d)",
            "T=src; trap 'rm -rf \"$T\"' EXIT; T=$(mktemp -d)",
            "t=$(tr -dc a-z/ < /dev/urandom | head -c 8); rm -rf /tmp/$t",
            "rm -rf \"$TMPDIR\"/*",
            "d=$(mktemp -d); rm -rf \"$d\"/*",
            "d=$(mktemp -d /does-not-exist/x.XXXX); rm -rf \"$d\"/*",
            "d=$(mktemp -d); for f in \"$d\"/*; do rm -rf \"$f\"; done",
        ],
        |tier| tier >= Tier::Medium,
    );
}

#[test]
fn work_that_lies_in_the_temp_directory_is_work() {
    for line in [
        "for d in ./*/; do (cd \"$d\" && rm -rf ./*); done",
        "ls -d */ | xargs -I{} bash -c 'cd {} && rm -rf ./*'",
        "parallel 'cd {} && rm -rf ./*' ::: */",
    ] {
        let (findings, _) = findings(line, "/tmp/guard-nothing/home/project", "/tmp/guard-nothing/home");
        let tier = findings.iter().map(|finding| finding.tier).max().unwrap_or_default();
        assert!(tier >= Tier::High, "{line}: {tier:?}");
    }
}
