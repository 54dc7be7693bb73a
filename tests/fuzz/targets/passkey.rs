//! Reads any bytes as a browser's passkey data: no panic, and no fuzzer-made data counts as a signature.
#![no_main]

use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use guard::judge::approver::Passkey;
use guard::judge::approver::passkey::{Assertion, PasskeyPairing, Registration, counted};
use libfuzzer_sys::fuzz_target;

const PAGE: &str = "http://localhost:6180";

fuzz_target!(|parts: (&[u8], &[u8], &[u8])| {
    let url = Base64UrlUnpadded::encode_string;
    let pairing = PasskeyPairing { secret: [7; 32], name: "ada".to_owned() };
    // The challenge is not a secret of the browser. With the right one the code behind the challenge check is reached.
    let challenge = url(&pairing.challenge("localhost"));
    let client = format!(r#"{{"type":"webauthn.create","challenge":"{challenge}","origin":"{PAGE}"}}"#);
    for client_data in [url(client.as_bytes()), url(parts.0)] {
        let made = Registration { client_data, attestation: url(parts.1) };
        let _ = pairing.passkey("localhost", PAGE, &made);
    }
    let assertion = Assertion {
        id: "AAAA".to_owned(),
        authenticator_data: url(parts.1),
        client_data: url(parts.0),
        signature: url(parts.2),
        code: None,
    };
    let mut key = vec![0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 0x20];
    key.extend([9; 32]);
    let passkey = Passkey {
        rp_id: "localhost".to_owned(),
        origins: vec![PAGE.to_owned()],
        credential: "AAAA".to_owned(),
        public: Base64::encode_string(&key),
        shared: false,
    };
    assert!(passkey.verify(b"message", &assertion.written()).is_err());
    let _ = counted(&assertion.written());
    if let Ok(text) = std::str::from_utf8(parts.0) {
        let _ = counted(text);
        assert!(passkey.verify(b"message", text).is_err());
    }
});
