//! Parses any bytes in every dialect: each input is parsed or refused without a panic or an overflow, the result is the
//! same twice, and the script's span lies within the text.

#![no_main]

use guard::judge::syntax::parse;
use guard::judge::syntax::tree::Dialect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    for dialect in [Dialect::Bash, Dialect::Sh, Dialect::Zsh] {
        let read = parse(text, dialect);
        assert_eq!(format!("{read:?}"), format!("{:?}", parse(text, dialect)), "the same text reads the same");
        match read {
            Ok(script) => assert!(script.span.end as usize <= text.len()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
