//! Tests the trees of texts, written in brackets.

use guard::judge::syntax::parse;
use guard::judge::syntax::tree::{
    Arithmetic, ArrayElement, AssignmentValue, Command, Compound, CompoundKind, CondToken, Dialect, Join, Parameter,
    ParameterOp, Part, Pipeline, RedirectFd, RedirectTarget, Script, Word,
};

fn script(script: &Script) -> String {
    let items = script.items.iter().map(|item| {
        let mut text = pipeline(&item.first);
        for (join, next) in &item.rest {
            text += if *join == Join::And { " && " } else { " || " };
            text += &pipeline(next);
        }
        text + if item.background { " &" } else { "" }
    });
    items.collect::<Vec<_>>().join("; ")
}

fn pipeline(pipeline: &Pipeline) -> String {
    let commands: Vec<String> = pipeline.commands.iter().map(command).collect();
    let time = if pipeline.timed { "time " } else { "" };
    let bang = if pipeline.negated { "! " } else { "" };
    format!("{time}{bang}{}", commands.join(" | "))
}

fn command(command_: &Command) -> String {
    match command_ {
        Command::Simple(simple) => {
            let mut all: Vec<String> = simple
                .assignments
                .iter()
                .map(|assignment| {
                    let subscript = assignment.subscript.as_ref().map(|inner| format!("[{}]", word(inner)));
                    let value = match &assignment.value {
                        AssignmentValue::Scalar(value) => word(value),
                        AssignmentValue::Array(elements) => array(elements),
                    };
                    let operator = if assignment.append { "+=" } else { "=" };
                    format!("<{}{}{operator}{value}>", assignment.name, subscript.unwrap_or_default())
                })
                .collect();
            all.extend(simple.words.iter().map(word));
            all.extend(redirects(&simple.redirects));
            format!("[{}]", all.join(" "))
        }
        Command::Compound(inner) => compound(inner),
        Command::Function(function) => {
            let arguments: Vec<String> = function.arguments.iter().map(word).collect();
            format!("function({}) {} {}", function.names.join(" "), compound(&function.body), arguments.join(" "))
        }
        Command::Coprocess(coprocess) => {
            format!("coproc({}) {}", coprocess.name.as_deref().unwrap_or_default(), command(&coprocess.body))
        }
    }
}

fn compound(compound: &Compound) -> String {
    let kind = match &compound.kind {
        CompoundKind::Group(inner) => format!("{{{}}}", script(inner)),
        CompoundKind::Subshell(inner) => format!("({})", script(inner)),
        CompoundKind::Arithmetic(inner) => format!("(({}))", arithmetic(inner)),
        CompoundKind::Conditional(tokens) => {
            let tokens = tokens.iter().map(|token| match token {
                CondToken::Word(inner) => word(inner),
                CondToken::Operator(operator, _) => format!("<{operator}>"),
            });
            format!("[[{}]]", tokens.collect::<Vec<_>>().join(" "))
        }
        CompoundKind::If { arms, otherwise } => {
            let arms: Vec<String> =
                arms.iter().map(|(test, body)| format!("{} ? {}", script(test), script(body))).collect();
            let otherwise = otherwise.as_ref().map(|body| format!(" : {}", script(body)));
            format!("if({}{})", arms.join(" | "), otherwise.unwrap_or_default())
        }
        CompoundKind::Loop { until, condition, body } => {
            format!("{}({} ? {})", if *until { "until" } else { "while" }, script(condition), script(body))
        }
        CompoundKind::For { names, words, body } => {
            let words = words.as_ref().map(|words| words.iter().map(word).collect::<Vec<_>>().join(" "));
            format!("for({} in {} : {})", names.join(" "), words.unwrap_or("\"$@\"".to_owned()), script(body))
        }
        CompoundKind::ForArithmetic { header, body } => {
            format!("for({} : {})", header.iter().map(arithmetic).collect::<Vec<_>>().join(";"), script(body))
        }
        CompoundKind::Select { name, words, body } => {
            let words = words.as_ref().map(|words| words.iter().map(word).collect::<Vec<_>>().join(" "));
            format!("select({name} in {} : {})", words.unwrap_or("\"$@\"".to_owned()), script(body))
        }
        CompoundKind::Case { subject, arms } => {
            let arms = arms.iter().map(|arm| {
                let patterns: Vec<String> = arm.patterns.iter().map(word).collect();
                format!("{}) {}{}", patterns.join("|"), script(&arm.body), if arm.falls_through { " ;&" } else { "" })
            });
            format!("case({}: {})", word(subject), arms.collect::<Vec<_>>().join(" ;; "))
        }
        CompoundKind::Repeat { count, body } => format!("repeat({} : {})", word(count), script(body)),
        CompoundKind::Always { body, finally } => format!("{{{}}} always {{{}}}", script(body), script(finally)),
    };
    let redirects: String = redirects(&compound.redirects).map(|redirect| format!(" {redirect}")).collect();
    kind + &redirects
}

fn redirects(redirects: &[guard::judge::syntax::tree::Redirect]) -> impl Iterator<Item = String> {
    redirects.iter().map(|redirect| {
        let fd = match &redirect.fd {
            RedirectFd::Default => String::new(),
            RedirectFd::Number(number) => number.to_string(),
            RedirectFd::Variable(name) => format!("{{{name}}}"),
        };
        let target = match &redirect.target {
            RedirectTarget::Word(target) => word(target),
            RedirectTarget::Heredoc(heredoc) => {
                format!("{}{:?}", if heredoc.quoted { "q" } else { "" }, word(&heredoc.body))
            }
        };
        format!("{fd}{:?}:{target}", redirect.op)
    })
}

fn array(elements: &[ArrayElement]) -> String {
    let elements = elements.iter().map(|element| match &element.subscript {
        Some(subscript) => format!("[{}]={}", word(subscript), word(&element.value)),
        None => word(&element.value),
    });
    format!("({})", elements.collect::<Vec<_>>().join(" "))
}

fn arithmetic(arithmetic: &Arithmetic) -> String {
    parts(&arithmetic.parts)
}

fn word(word: &Word) -> String {
    parts(&word.parts)
}

fn parts(all: &[Part]) -> String {
    all.iter()
        .map(|part| match part {
            Part::Literal(text) => text.clone(),
            Part::Escaped(text) => format!("\\{text}"),
            Part::Single(text) => format!("'{text}'"),
            Part::AnsiC(text) => format!("$'{text}'"),
            Part::Double { parts: inner, localized } => {
                format!("{}\"{}\"", if *localized { "$" } else { "" }, parts(inner))
            }
            Part::Parameter(inner) => parameter(inner),
            Part::Command(inner) => match (inner.backtick, inner.in_current_shell) {
                (true, _) => format!("`{}`", script(&inner.script)),
                (_, true) => format!("${{ {}}}", script(&inner.script)),
                _ => format!("$({})", script(&inner.script)),
            },
            Part::Process(inner) => format!("{}({})", inner.direction, script(&inner.script)),
            Part::Arithmetic(inner) => format!("$(({}))", arithmetic(inner)),
            Part::ExtGlob { operator, alternatives } => {
                format!("{operator}<{}>", alternatives.iter().map(word).collect::<Vec<_>>().join("|"))
            }
            Part::Array(elements) => array(elements),
            Part::Hole(hole) => format!("<{}>", hole.0),
        })
        .collect()
}

fn parameter(parameter: &Parameter) -> String {
    let subscript = parameter.subscript.as_ref().map(|inner| format!("[{}]", word(inner))).unwrap_or_default();
    let sign = if parameter.length {
        "#"
    } else if parameter.indirect {
        "!"
    } else {
        ""
    };
    let colon = |colon: &bool| if *colon { ":" } else { "" };
    let operation = match &parameter.operation {
        None => String::new(),
        Some(ParameterOp::Default { colon: c, word: w }) => format!("{}-{}", colon(c), word(w)),
        Some(ParameterOp::AssignDefault { colon: c, word: w }) => format!("{}={}", colon(c), word(w)),
        Some(ParameterOp::Error { colon: c, word: w }) => format!("{}?{}", colon(c), word(w)),
        Some(ParameterOp::Alternative { colon: c, word: w }) => format!("{}+{}", colon(c), word(w)),
        Some(ParameterOp::RemovePrefix { longest, pattern }) => {
            format!("{}{}", if *longest { "##" } else { "#" }, word(pattern))
        }
        Some(ParameterOp::RemoveSuffix { longest, pattern }) => {
            format!("{}{}", if *longest { "%%" } else { "%" }, word(pattern))
        }
        Some(ParameterOp::Replace { anchor, pattern, replacement }) => {
            format!(" {anchor:?} {} -> {}", word(pattern), word(replacement))
        }
        Some(ParameterOp::Case { operator, pattern }) => format!("{operator}{}", word(pattern)),
        Some(ParameterOp::Substring { offset, length }) => {
            format!(
                ":{}{}",
                arithmetic(offset),
                length.as_ref().map(|len| format!(":{}", arithmetic(len))).unwrap_or_default()
            )
        }
        Some(ParameterOp::Transform(letter)) => format!("@{letter}"),
        Some(ParameterOp::NamesWithPrefix(sign)) => format!(" names{sign}"),
        Some(ParameterOp::Other(inner)) => format!(" other {}", word(inner)),
    };
    format!("${{{sign}{}{subscript}{operation}}}", parameter.name)
}

/// Texts and their trees. A prefix names the dialect if it is not bash.
const SHAPES: &[(&str, &str)] = &[
    ("ls -la | grep foo", "[ls -la] | [grep foo]"),
    ("a && b || c; d & e", "[a] && [b] || [c]; [d] &; [e]"),
    ("a |& b", "[a 2DuplicateOut:1] | [b]"),
    ("! a; ! ! b; time -p c | d", "! [a]; [b]; time [c] | [d]"),
    ("a | time b", "[a] | [time b]"),
    // Quoting is preserved.
    (r#"r\m 'a b'"c $d"$'\x41'$"e""#, r#"[r\m 'a b'"c ${d}"$'A'$"e"]"#),
    (r#"echo "a\$b\"c\d""#, r#"[echo "a$b"c\d"]"#),
    ("ec\\\nho a\\\n b \"c\\\nd\" 'e\\\nf'", "[echo a b \"cd\" 'e\\\nf']"),
    ("echo $ a$ \"$\" $'$'", "[echo $ a$ \"$\" $'$']"),
    ("echo a#b #c\nd", "[echo a#b]; [d]"),
    // Redirections.
    (
        "a >b 2>>c <d {fd}<>e &>f 3>&- <<<g",
        "[a Write:b 2Append:c Read:d {fd}ReadWrite:e WriteBoth:f 3DuplicateOut:- HereString:g]",
    ),
    ("a 2 >b 99999999999>c", "[a 2 99999999999 Write:b Write:c]"),
    ("{ a; } >b <c", "{[a]} Write:b Read:c"),
    ("a<(b)c 2>(d)", "[a<([b])c 2>([d])]"),
    // Here-documents.
    ("cat <<E; b\nx $y `z`\nE\nc", "[cat Heredoc:\"x ${y} `[z]`\\n\"]; [b]; [c]"),
    ("cat <<'E'\nx $y\nE", "[cat Heredoc:q\"x $y\\n\"]"),
    ("cat <<-E\n\t\tx $(y\n\t)\n\tE\nb", "[cat Heredoc:\"x $([y])\\n\"]; [b]"),
    ("cat <<A <<B\na\nA\nb\nB\nc", "[cat Heredoc:\"a\\n\" Heredoc:\"b\\n\"]; [c]"),
    ("a <<E | while read; do b\nx\nE\nc; done", "[a Heredoc:\"x\\n\"] | while([read] ? [b]; [c])"),
    ("a $(cat <<E\nx\nE\n) b", "[a $([cat Heredoc:\"x\\n\"]) b]"),
    ("a $(cat <<E\nx\nE)\nb", "[a $([cat Heredoc:\"x\\n\"])]; [b]"),
    ("cat <<E\nx\\\nE\nE\nb", "[cat Heredoc:\"xE\\n\"]; [b]"),
    ("cat <<E\na\nE\\\n\nb", "[cat Heredoc:\"a\\n\"]; [b]"),
    ("cat <<''\na\n\nb", "[cat Heredoc:q\"a\\n\"]; [b]"),
    ("cat <<E\nx", "[cat Heredoc:\"x\"]"),
    ("cat <<E\n\"'\\\"\\$\\a\nE", "[cat Heredoc:\"\\\"'\\\\\\\"$\\\\a\\n\"]"),
    // Assignments.
    ("a=1 b+=2 c[i+1]=3 d=(x [2]=y) e", "[<a=1> <b+=2> <c[i+1]=3> <d=(x [2]=y)> e]"),
    ("a[b c] d", "[a[b c] d]"),
    ("a=(b # c\n d)", "[<a=(b d)>]"),
    ("declare -A a=([k]=v) b=c", "[declare -A a=([k]=v) b=c]"),
    ("x a=b", "[x a=b]"),
    // Substitutions and parameters.
    ("`a \\`b\\`` \"`c \\\"d\\\"`\"", "[`[a `[b]`]` \"`[c \"d\"]`\"]"),
    ("$(a) $( (b) ) $((c)) $((d) ) $[e]", "[$([a]) $(([b])) $((c)) $(([d])) $((e))]"),
    ("${ a; } $((b); (c))", "[${ [a]} $(([b]); ([c]))]"),
    (
        "$a ${b} $1 ${10} $10 $? ${#} ${#c} ${!d} ${!e*} ${f[@]}",
        "[${a} ${b} ${1} ${10} ${1}0 ${?} ${#} ${#c} ${!d} ${!e names*} ${f[@]}]",
    ),
    ("${a:-b $c} ${a=d} ${a?} ${a:+\"e\"}", "[${a:-b ${c}} ${a=d} ${a?} ${a:+\"e\"}]"),
    ("${a#b} ${a##b} ${a%b} ${a%%b} ${a^^} ${a,b} ${a@Q}", "[${a#b} ${a##b} ${a%b} ${a%%b} ${a^^} ${a,b} ${a@Q}]"),
    (
        "${a/b/c} ${a//\\//$(d)} ${a/#b} ${a/%b/}",
        "[${a First b -> c} ${a All \\/ -> $([d])} ${a Prefix b -> } ${a Suffix b -> }]",
    ),
    ("${a:1} ${a: -1:$(b)} ${a:b?1:2:3}", "[${a:1} ${a: -1:$([b])} ${a:b?1:2:3}]"),
    ("\"${a:-\"b $c\"}\" \"${a:-'$b'}\" \"${a#'$b'}\"", "[\"${a:-\"b ${c}\"}\" \"${a:-'${b}'}\" \"${a#'$b'}\"]"),
    ("${a:-}} ${a:-'}'} ${a:-\\}}", "[${a:-}} ${a:-'}'} ${a:-\\}}]"),
    ("${a[$(b)]} a[$(c)]=d ${e['$(f)']}", "[${a[$([b])]} a[$([c])]=d ${e[\"$([f])\"]}]"),
    ("echo @(a|b*) !(c) x?(d)", "[echo @<a|b*> !<c> x?<d>]"),
    // Compound commands.
    ("( ( a ) ); ((b)); ((c) )", "(([a])); ((b)); (([c]))"),
    ("!(a); echo !(b)", "! ([a]); [echo !<b>]"),
    ("if a; then b; elif c; then d; else e; fi", "if([a] ? [b] | [c] ? [d] : [e])"),
    ("while a; do b; done; until c; do d; done", "while([a] ? [b]); until([c] ? [d])"),
    ("for a; do b; done; for c in d $e; { f; }", "for(a in \"$@\" : [b]); for(c in d ${e} : [f])"),
    ("for ((a=0;a<$b;)) do c; done", "for(a=0;a<${b}; : [c])"),
    ("select a in b; do c; done", "select(a in b : [c])"),
    ("case $a in b|c) d;; (\"e\") f;& *) esac", "case(${a}: b|c) [d] ;; \"e\") [f] ;& ;; *) )"),
    (
        "a() { b; }; function c { d; } >e; f() ( g )",
        "function(a) {[b]} ; function(c) {[d]} Write:e ; function(f) ([g]) ",
    ),
    ("coproc a; coproc B { c; }", "coproc() [a]; coproc(B) {[c]}"),
    ("[[ -f a && ( $b == c* || ! d ) ]]", "[[<-f> a <&&> <(> ${b} <==> c* <||> <!> d <)>]]"),
    ("[[ a =~ ^(b|c d)$ ]] && e", "[[a <=~> ^(b|c d)$]] && [e]"),
    ("[[ a < b ]]", "[[a <<> b]]"),
    // Reserved words are ordinary words in other positions.
    ("echo if then } { [[ ]] ! time", "[echo if then } { [[ ]] ! time]"),
    ("i\\\nf a; t\\\nhen b; fi", "if([a] ? [b])"),
    // A POSIX shell.
    ("sh: a &>b c", "[a] &; [c Write:b]"),
    ("sh: ((a))", "(([a]))"),
    ("sh: ((a>1))", "(([a Write:1]))"),
    ("sh: [[ a && b ]]", "[[[ a] && [b ]]]"),
    ("sh: [[ a =~ (b) ]]", "[[a <=~> (b)]]"),
    ("sh: time a; time -o b c", "time [a]; [time -o b c]"),
    // zsh.
    ("zsh: repeat 3 a b; c", "repeat(3 : [a b]); [c]"),
    ("zsh: { a } always { b }", "{[a]} always {[b]}"),
    ("zsh: () { a } b; function { c } d", "function() {[a]} b; function() {[c]} d"),
    ("zsh: a b () c; function d e { f }", "function(a b) {[c]} ; function(d e) {[f]} "),
    ("zsh: for a b (c d) e; foreach f (g) h; end", "for(a b in c d : [e]); for(f in g : [h])"),
    ("zsh: if [[ a ]] { b } elif (( c )) { d } else { e }", "if([[a]] ? [b] | (( c )) ? [d] : [e])"),
    ("zsh: =a b =c", "[${ other =}a b ${ other =}c]"),
    ("zsh: ls *(.om[1]) (a|b)* <1-2>", "[ls *(<.om[1]> (<a|b>* <1-2>]"),
    ("zsh: a >! b &| c", "[a Clobber:b] &; [c]"),
    ("zsh: echo $a[2] $a:t ${(U)a} ${a:t} $#a", "[echo ${a other 2} ${a other }:t ${ other (U)a} ${a other :t} ${#a}]"),
    ("zsh: diff =(a) b", "[diff =([a]) b]"),
    ("zsh: case a in (b|c)*) d;| e) f;; esac", "case(a: (<b|c>*) [d] ;& ;; e) [f])"),
];

#[test]
fn every_construct_has_its_shape() {
    let mut failed = Vec::new();
    for &(text, expected) in SHAPES {
        let (dialect, source) = match text.split_once(": ") {
            Some(("sh", rest)) => (Dialect::Sh, rest),
            Some(("zsh", rest)) => (Dialect::Zsh, rest),
            _ => (Dialect::Bash, text),
        };
        let found = parse(source.as_bytes(), dialect).map_or_else(|error| error.to_string(), |tree| script(&tree));
        if found != expected {
            failed.push(format!("{text}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn ansi_c_quoting_is_decoded_as_bash_decodes_it() {
    let mut random = super::executions::Random::new(3);
    let pieces = [
        "a", "\\n", "\\t", "\\e", "\\\\", "\\'", "\\\"", "\\x41", "\\x4", "\\xg", "\\101", "\\7", "\\18", "\\u41",
        "\\u263a", "\\U1f600", "\\q", "\\c", "A", "\\?", "\\v", " ", "\"", "$x", "\\x{42}", "\\0", "\\u", "é", "\\a",
        "\\b", "\\f", "\\r",
    ];
    for _ in 0..400 {
        let inner: String = (0..1 + random.below(5)).map(|_| random.pick(&pieces)).collect();
        let text = format!("printf %s $'{inner}'");
        let output = std::process::Command::new("bash")
            .env("LC_ALL", "C.UTF-8")
            .args(["-c", &text])
            .output()
            .expect("bash runs");
        let Ok(tree) = parse(text.as_bytes(), Dialect::Bash) else { panic!("{text}") };
        let Command::Simple(simple) = &tree.items[0].first.commands[0] else { panic!("{text}") };
        let found = match simple.words[2].parts.as_slice() {
            [Part::AnsiC(decoded)] => decoded.clone(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(found, String::from_utf8_lossy(&output.stdout), "{text}");
    }
}
