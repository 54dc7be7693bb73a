use super::*;
use p256::ecdsa::signature::Signer as _;

const SITE: &str = "localhost";
const PAGE: &str = "http://localhost:6180";
const MESSAGE: &[u8] = b"guard approval 2\n";

/// An authenticator that creates passkeys and signs.
enum Device {
    Es256(p256::ecdsa::SigningKey),
    EdDsa(ed25519_dalek::SigningKey),
}

fn url(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

fn es256() -> Device {
    Device::Es256(p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap())
}

fn eddsa() -> Device {
    Device::EdDsa(ed25519_dalek::SigningKey::from_bytes(&[9; 32]))
}

impl Device {
    fn cose(&self) -> Vec<u8> {
        match self {
            Self::Es256(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let point = point.as_bytes();
                [&ES256_X[..], &point[1..33], &ES256_Y, &point[33..65]].concat()
            }
            Self::EdDsa(key) => [&EDDSA[..], key.verifying_key().as_bytes()].concat(),
        }
    }

    fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Es256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(bytes);
                signature.to_der().as_bytes().to_vec()
            }
            Self::EdDsa(key) => key.sign(bytes).to_bytes().to_vec(),
        }
    }

    fn passkey(&self) -> Passkey {
        Passkey {
            rp_id: SITE.to_owned(),
            origins: vec![PAGE.to_owned()],
            credential: url(&[5; 32]),
            public: Base64::encode_string(&self.cose()),
            shared: false,
        }
    }
}

/// The parts of an assertion before it is signed.
#[derive(Clone)]
struct Parts {
    id: String,
    client_data: serde_json::Value,
    site: Vec<u8>,
    flags: u8,
    count: u32,
    more: Vec<u8>,
}

fn parts() -> Parts {
    Parts {
        id: url(&[5; 32]),
        client_data: serde_json::json!({
            "type": "webauthn.get", "challenge": url(&challenge(MESSAGE)), "origin": PAGE, "crossOrigin": false,
            "other_keys_can_be_added_here": "do not compare clientDataJSON against a template",
        }),
        site: Sha256::digest(SITE.as_bytes()).to_vec(),
        flags: PRESENT | VERIFIED,
        count: 3,
        more: Vec::new(),
    }
}

impl Parts {
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut new = self.clone();
        change(&mut new);
        new
    }

    fn signed(&self, device: &Device) -> Assertion {
        let client_data = self.client_data.to_string();
        let data = [&self.site[..], &[self.flags], &self.count.to_be_bytes(), &self.more].concat();
        let signed = [data.as_slice(), &Sha256::digest(client_data.as_bytes())].concat();
        Assertion {
            id: self.id.clone(),
            authenticator_data: url(&data),
            client_data: url(client_data.as_bytes()),
            signature: url(&device.sign(&signed)),
            code: None,
        }
    }
}

#[test]
fn what_its_owner_signed_holds_by_both_kinds_of_keys() {
    for device in [es256(), eddsa()] {
        let assertion = parts().signed(&device).written();
        assert_eq!(device.passkey().verify(MESSAGE, &assertion), Ok(()));
        assert_eq!(device.passkey().check(), Ok(()));
        assert_eq!(counted(&assertion), Some((url(&[5; 32]), 3)));
        assert_eq!(device.passkey().verify(b"another", &assertion), Err(BadPasskey::Challenge));
    }
    let by_another = parts().signed(&Device::Es256(p256::ecdsa::SigningKey::from_slice(&[8; 32]).unwrap())).written();
    assert_eq!(es256().passkey().verify(MESSAGE, &by_another), Err(BadPasskey::Signature));
    assert_eq!(eddsa().passkey().verify(MESSAGE, &parts().signed(&es256()).written()), Err(BadPasskey::Signature));
}

#[test]
fn each_field_that_is_forged_is_refused_though_the_key_signed_it() {
    type Change = fn(&mut Parts);
    let set = |key: &'static str, value: serde_json::Value| {
        move |parts: &mut Parts| {
            parts.client_data[key] = value;
        }
    };
    let plain: [(Change, BadPasskey); 9] = [
        (|parts| parts.id = url(&[6; 32]), BadPasskey::Credential),
        (|parts| parts.site[0] ^= 1, BadPasskey::Site),
        (|parts| parts.flags = VERIFIED, BadPasskey::Presence),
        (|parts| parts.flags = PRESENT, BadPasskey::Verification),
        (|parts| parts.flags |= HAS_KEY, BadPasskey::Flags),
        (|parts| parts.flags |= MAY_BE_COPIED, BadPasskey::Flags),
        (|parts| parts.flags |= IS_COPIED, BadPasskey::Flags),
        (|parts| parts.flags |= HAS_EXTENSIONS, BadPasskey::Flags),
        (|parts| parts.more = vec![0xa0], BadPasskey::Flags),
    ];
    for device in [es256(), eddsa()] {
        let verify = |parts: &Parts| device.passkey().verify(MESSAGE, &parts.signed(&device).written());
        for (at, (change, why)) in plain.iter().enumerate() {
            assert_eq!(verify(&parts().with(change)), Err(*why), "{at}");
        }
        let told = |key, value: serde_json::Value| verify(&parts().with(set(key, value)));
        assert_eq!(told("type", "webauthn.create".into()), Err(BadPasskey::Type));
        assert_eq!(told("challenge", url(&challenge(b"another")).into()), Err(BadPasskey::Challenge));
        assert_eq!(told("challenge", format!("{}=", url(&challenge(MESSAGE))).into()), Err(BadPasskey::Challenge));
        assert_eq!(told("origin", "http://localhost:6181".into()), Err(BadPasskey::Origin));
        assert_eq!(told("origin", "https://localhost:6180".into()), Err(BadPasskey::Origin));
        assert_eq!(told("crossOrigin", true.into()), Err(BadPasskey::Frame));
        assert_eq!(told("topOrigin", "http://localhost:6180".into()), Err(BadPasskey::Frame));
        assert_eq!(told("origin", 3.into()), Err(BadPasskey::Form));
        // Extensions are present, and the flag is set.
        let extended = parts().with(|parts| {
            parts.flags |= HAS_EXTENSIONS;
            parts.more = vec![0xa0];
        });
        assert_eq!(verify(&extended), Ok(()));
    }
    // A key that may be shared sets the flag each time.
    let shared = Passkey { shared: true, ..es256().passkey() };
    let verify = |parts: Parts| shared.verify(MESSAGE, &parts.signed(&es256()).written());
    assert_eq!(verify(parts()), Err(BadPasskey::Flags));
    assert_eq!(verify(parts().with(|parts| parts.flags |= MAY_BE_COPIED | IS_COPIED)), Ok(()));
}

#[test]
fn one_bit_flipped_anywhere_and_it_does_not_hold() {
    for device in [es256(), eddsa()] {
        let good = parts().signed(&device);
        let flips = |text: &str| {
            let bytes = Base64UrlUnpadded::decode_vec(text).unwrap();
            (0..bytes.len() * 8).map(move |bit| {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                url(&bytes)
            })
        };
        let mut forged: Vec<Assertion> = Vec::new();
        forged.extend(
            flips(&good.authenticator_data)
                .step_by(3)
                .map(|text| Assertion { authenticator_data: text, ..good.clone() }),
        );
        forged.extend(flips(&good.client_data).step_by(7).map(|text| Assertion { client_data: text, ..good.clone() }));
        forged.extend(flips(&good.signature).step_by(3).map(|text| Assertion { signature: text, ..good.clone() }));
        for one in forged {
            assert!(device.passkey().verify(MESSAGE, &one.written()).is_err(), "{one:?}");
        }
    }
}

#[test]
fn what_is_no_assertion_is_none() {
    let key = es256().passkey();
    let good = parts().signed(&es256());
    for odd in ["", "=", "AAAA", &"A".repeat(20_000)] {
        assert!(key.verify(MESSAGE, odd).is_err(), "{odd}");
        assert_eq!(counted(odd), None);
    }
    let long = Assertion { client_data: url(&[b' '; 5000]), ..good.clone() };
    assert_eq!(key.verify(MESSAGE, &long.written()), Err(BadPasskey::Long));
    let short = Assertion { authenticator_data: url(&[0; 20]), ..good.clone() };
    assert_eq!(key.verify(MESSAGE, &short.written()), Err(BadPasskey::Form));
    let twice = format!(
        r#"{{"type":"webauthn.get","type":"webauthn.get","challenge":"{}","origin":"{PAGE}"}}"#,
        url(&challenge(MESSAGE))
    );
    let twice = Assertion { client_data: url(twice.as_bytes()), ..good };
    assert_eq!(key.verify(MESSAGE, &twice.written()), Err(BadPasskey::Form));
}

fn pairing() -> PasskeyPairing {
    PasskeyPairing { secret: [3; 32], name: "ada".to_owned() }
}

fn made(device: &Device, flags: u8, change: impl FnOnce(&mut Vec<u8>, &mut serde_json::Value)) -> Registration {
    let data = [&Sha256::digest(SITE.as_bytes())[..], &[flags], &[0; 4], &[0; 16], &[0, 32], &[5; 32], &device.cose()]
        .concat();
    let mut object = [NOTHING_ATTESTED, &[0x58, u8::try_from(data.len()).unwrap()], &data].concat();
    let mut client = serde_json::json!({
        "type": "webauthn.create", "challenge": url(&pairing().challenge(SITE)), "origin": PAGE, "crossOrigin": false,
    });
    change(&mut object, &mut client);
    Registration { client_data: url(client.to_string().as_bytes()), attestation: url(&object) }
}

#[test]
fn a_new_key_is_taken_as_the_browser_made_it() {
    for device in [es256(), eddsa()] {
        let read = |made: &Registration| pairing().passkey(SITE, PAGE, made);
        let key = read(&made(&device, PRESENT | VERIFIED | HAS_KEY, |_, _| {})).unwrap();
        assert_eq!(key, device.passkey());
        assert_eq!(key.verify(MESSAGE, &parts().signed(&device).written()), Ok(()));
        assert_eq!(digits(&key).len(), 6);
        let shared = read(&made(&device, PRESENT | VERIFIED | HAS_KEY | MAY_BE_COPIED, |_, _| {})).unwrap();
        assert!(shared.shared);
        for (flags, why) in [
            (PRESENT | VERIFIED, BadPasskey::Flags),
            (PRESENT | HAS_KEY, BadPasskey::Verification),
            (VERIFIED | HAS_KEY, BadPasskey::Presence),
            (PRESENT | VERIFIED | HAS_KEY | HAS_EXTENSIONS, BadPasskey::Flags),
        ] {
            assert_eq!(read(&made(&device, flags, |_, _| {})), Err(why), "{flags}");
        }
        let good = PRESENT | VERIFIED | HAS_KEY;
        assert_eq!(
            read(&made(&device, good, |_, client| client["type"] = "webauthn.get".into())),
            Err(BadPasskey::Type)
        );
        assert_eq!(
            read(&made(&device, good, |_, client| client["origin"] = "https://x".into())),
            Err(BadPasskey::Origin)
        );
        assert_eq!(read(&made(&device, good, |_, client| client["crossOrigin"] = true.into())), Err(BadPasskey::Frame));
        assert_eq!(read(&made(&device, good, |object, _| object.truncate(90))), Err(BadPasskey::Form));
        assert_eq!(read(&made(&device, good, |object, _| object.push(0))), Err(BadPasskey::Form));
        assert_eq!(read(&made(&device, good, |object, _| object[6] = b'p')), Err(BadPasskey::Attested));
        let other = PasskeyPairing { name: "eve".to_owned(), ..pairing() };
        assert_eq!(other.passkey(SITE, PAGE, &made(&device, good, |_, _| {})), Err(BadPasskey::Challenge));
        let other = PasskeyPairing { secret: [4; 32], ..pairing() };
        assert_eq!(other.passkey(SITE, PAGE, &made(&device, good, |_, _| {})), Err(BadPasskey::Challenge));
        assert_eq!(pairing().passkey("other", PAGE, &made(&device, good, |_, _| {})), Err(BadPasskey::Challenge));
    }
}

#[test]
fn a_key_of_another_kind_is_named() {
    assert_eq!(PublicKey::read(&RS256).err(), Some(BadPasskey::Rs256));
    assert_eq!(PublicKey::read(&[0xa5, 1, 2]).err(), Some(BadPasskey::Key));
    assert_eq!(PublicKey::read(&[]).err(), Some(BadPasskey::Key));
    let mut broken = es256().cose();
    broken[42] = 0;
    assert_eq!(PublicKey::read(&broken).err(), Some(BadPasskey::Key));
    assert_eq!(PublicKey::read(&es256().cose()[..76]).err(), Some(BadPasskey::Key));
}
