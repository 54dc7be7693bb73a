//! Web push: sends notifications to subscribed devices, encrypted for the device (RFC 8291) and signed with the
//! gateway's own key (VAPID, RFC 8292).
//!
//! The push service learns that there is a notification, but not its contents. A notification cannot answer a request;
//! it opens the page. Out of scope: selecting requests; every filed request causes a notification.

use std::sync::Arc;
use std::time::Duration;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use jiff::Timestamp;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use utoipa::ToSchema;

use crate::api::App;
use crate::backend::BackendError;
use crate::channel::http;
use crate::request_feed::TrackedRequest;
use crate::route::is_urgent;

/// The time that a push service keeps a notification for an offline device, in seconds. No request waits longer.
const KEPT_SECS: u32 = 300;

/// The lifetime of a signature for a push service, in seconds. The standard allows a day.
const SIGNED_SECS: i64 = 12 * 60 * 60;

/// The maximum length of the text of a notification, in characters. The encrypted message must fit into 4096 bytes.
const LONGEST: usize = 600;

/// The time limit of a request to a push service.
const PATIENCE: Duration = Duration::from_secs(10);

/// A web push subscription of a device, as reported by its browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscription {
    /// Where the push service takes notices for it
    pub endpoint: String,
    pub keys: Keys,
}

/// The keys that encrypt notifications for a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// A point of P-256, in base64url
    pub p256dh: String,
    /// 16 bytes that only the device and this gateway know, in base64url
    pub auth: String,
}

/// An error in a subscription or in the gateway's key for web push, or a failed delivery.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    #[error("endpoint: {0}")]
    NoAddress(String),
    #[error("endpoint: {0} is not a known push service (push_hosts in gateway.toml)")]
    UnknownHost(String),
    #[error("keys: {0} is not base64url")]
    NoBase64(&'static str),
    #[error("keys: expected 65 bytes in p256dh and 16 bytes in auth")]
    Keys,
    #[error("cannot encrypt the notification for this device")]
    Encrypt,
    #[error("cannot create a key for web push")]
    Generate,
    #[error("gateway.db: the key for web push is damaged")]
    Damaged,
    #[error("cannot sign for web push")]
    Sign,
    /// The delivery failed. The message omits the address, which is a secret of the device.
    #[error("{0}")]
    Post(String),
}

/// The reason why no device was notified of a request.
#[derive(Debug, thiserror::Error)]
enum NoticeError {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Push(#[from] PushError),
    #[error(transparent)]
    Http(#[from] http::HttpError),
}

impl Subscription {
    /// Checks that notifications can be sent to this device. `hosts` are the accepted push services.
    ///
    /// # Errors
    /// Returns an error if the address is not that of an accepted push service, or if the keys are invalid.
    pub fn check(&self, hosts: &[String]) -> Result<(), PushError> {
        let url = reqwest::Url::parse(&self.endpoint).map_err(|error| PushError::NoAddress(error.to_string()))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let is = |known: &String| match known.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|front| front.len() > 1 && front.ends_with('.')),
            None => *known == host,
        };
        let plain = url.scheme() == "http" && ["127.0.0.1", "[::1]", "localhost"].contains(&host.as_str());
        if self.endpoint.len() > 1000 || !(url.scheme() == "https" || plain) || !hosts.iter().any(is) {
            return Err(PushError::UnknownHost(host));
        }
        self.points().map(drop)
    }

    fn points(&self) -> Result<(Vec<u8>, Vec<u8>), PushError> {
        let read = |name: &'static str, text: &str| {
            Base64UrlUnpadded::decode_vec(text.trim_end_matches('=')).map_err(|_| PushError::NoBase64(name))
        };
        let (point, auth) = (read("p256dh", &self.keys.p256dh)?, read("auth", &self.keys.auth)?);
        match (point.len(), point.first(), auth.len()) {
            (65, Some(4), 16) => Ok((point, auth)),
            _ => Err(PushError::Keys),
        }
    }

    /// Encrypts a text for this device, and returns the body of the request to its push service.
    ///
    /// # Errors
    /// Returns an error if the device's key is not a point of the curve, or if the system provides no random bytes.
    pub fn encrypt(&self, text: &[u8]) -> Result<Vec<u8>, PushError> {
        let broken = |_| PushError::Encrypt;
        let (device, auth) = self.points()?;
        let random = SystemRandom::new();
        let mut salt = [0; 16];
        random.fill(&mut salt).map_err(broken)?;
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(broken)?;
        let public = own.compute_public_key().map_err(broken)?;
        let with = UnparsedPublicKey::new(&ECDH_P256, &device);
        let sealed = agree_ephemeral(own, &with, |shared| {
            seal(shared, &auth, [&device, public.as_ref()], salt, text).ok_or(ring::error::Unspecified)
        });
        sealed.and_then(|sealed| sealed).map_err(broken)
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Derives bytes with HKDF-SHA-256. `N` is at most 64.
fn derive<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    Salt::new(HKDF_SHA256, salt).extract(secret).expand(info, Length(N)).ok()?.fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Encrypts the single record (RFC 8188) of a message (RFC 8291). `points` are the public keys of the device and the
/// sender.
fn seal(shared: &[u8], auth: &[u8], points: [&[u8]; 2], salt: [u8; 16], text: &[u8]) -> Option<Vec<u8>> {
    let [device, own] = points;
    let input: [u8; 32] = derive(auth, shared, &[b"WebPush: info\0", device, own])?;
    let key: [u8; 16] = derive(&salt, &input, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = derive(&salt, &input, &[b"Content-Encoding: nonce\0"])?;
    // The delimiter 2 marks the last record of a message.
    let mut sealed = [text, &[2]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed).ok()?;
    let mut body = salt.to_vec();
    body.extend_from_slice(&4096u32.to_be_bytes());
    body.push(u8::try_from(own.len()).ok()?);
    body.extend_from_slice(own);
    body.extend_from_slice(&sealed);
    Some(body)
}

/// The key that identifies this gateway to push services.
pub struct Vapid {
    pair: EcdsaKeyPair,
}

impl Vapid {
    /// Generates a new key, to be stored.
    ///
    /// # Errors
    /// Returns an error if the system provides no random bytes.
    pub fn generate() -> Result<Vec<u8>, PushError> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        made.map(|made| made.as_ref().to_vec()).map_err(|_| PushError::Generate)
    }

    /// Parses a stored key.
    ///
    /// # Errors
    /// Returns an error if the key is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, PushError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes, &SystemRandom::new());
        Ok(Self { pair: pair.map_err(|_| PushError::Damaged)? })
    }

    /// Returns the public key for browsers, in base64url.
    #[must_use]
    pub fn public(&self) -> String {
        Base64UrlUnpadded::encode_string(self.pair.public_key().as_ref())
    }

    /// Returns the header `Authorization` for the push service of this address.
    ///
    /// # Errors
    /// Returns an error if the address is invalid, or if signing fails.
    pub fn authorization(&self, endpoint: &str, now: Timestamp) -> Result<String, PushError> {
        let url = reqwest::Url::parse(endpoint).map_err(|error| PushError::Post(error.to_string()))?;
        let claims = json!({
            "aud": url.origin().ascii_serialization(), "exp": now.as_second() + SIGNED_SECS, "sub": "mailto:guard@localhost",
        });
        let part = |value: &serde_json::Value| Base64UrlUnpadded::encode_string(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": "ES256" })), part(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| PushError::Sign)?;
        let signature = Base64UrlUnpadded::encode_string(signature.as_ref());
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public()))
    }
}

/// Sends a notification of each filed request; runs as long as the feed is open.
pub async fn send_notices(app: Arc<App>) {
    let (_, mut stream) = app.feed.subscribe(None);
    loop {
        let event = match stream.recv().await {
            Ok(event) if event.kind == "request.filed" => event,
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let Some(shown) = app.feed.find(&event.action_id) else { continue };
        let app = app.clone();
        tokio::spawn(async move {
            if let Err(why) = notify(&app, &shown).await {
                tracing::warn!("web push: {why}");
            }
        });
    }
}

/// Notifies all devices of a request. Removes devices whose push service reports that they are gone.
async fn notify(app: &App, shown: &TrackedRequest) -> Result<(), NoticeError> {
    let all = app.backend.run(|backend| backend.memory().subscriptions()).await??;
    if all.is_empty() {
        return Ok(());
    }
    let vapid = Vapid::read(&app.backend.run(|backend| backend.memory().vapid()).await??)?;
    let pending = &shown.pending;
    let visible = guard_ui::ui::visible::text(&pending.command);
    let text = json!({
        "title": format!("guard asks: {} (tier {})", pending.tier.name(), pending.tier.number()),
        "body": crate::channel::text::cut(&visible, LONGEST), "action_id": shown.action, "urgent": is_urgent(pending),
    });
    let client = http::client()?;
    for one in all {
        let sent = post(&client, &vapid, &one, text.to_string().as_bytes()).await;
        match sent {
            Ok(404 | 410) => {
                let endpoint = one.endpoint;
                app.backend.run(move |backend| backend.memory().unsubscribe(None, &endpoint)).await??;
            }
            Ok(200..=299) => {}
            Ok(status) => tracing::warn!("web push: the push service answered {status}"),
            Err(why) => tracing::warn!("web push: {why}"),
        }
    }
    Ok(())
}

async fn post(client: &reqwest::Client, vapid: &Vapid, to: &Subscription, text: &[u8]) -> Result<u16, PushError> {
    let body = to.encrypt(text)?;
    let request = client.post(&to.endpoint).timeout(PATIENCE).body(body);
    let request = request.header("authorization", vapid.authorization(&to.endpoint, Timestamp::now())?);
    let request = request.header("ttl", KEPT_SECS).header("urgency", "high");
    let sent = request.header("content-encoding", "aes128gcm").send().await;
    // The address of a device is a secret, so no error contains it.
    sent.map(|response| response.status().as_u16()).map_err(|error| PushError::Post(error.without_url().to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        Base64UrlUnpadded::decode_vec(text).unwrap()
    }

    #[test]
    fn a_notice_is_encrypted_as_the_standard_shows() {
        // The example of RFC 8291, section 5 and appendix A.
        let device = bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let own = bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let text = b"When I grow up, I want to be a watermelon";
        let sealed = seal(&shared, &bytes("BTBZMqHH6r4Tts7J_aSIgg"), [&device, &own], salt, text).unwrap();
        assert_eq!(
            Base64UrlUnpadded::encode_string(&sealed),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y\
             l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn the_gateway_signs_for_one_push_service_and_for_a_while() {
        let vapid = Vapid::read(&Vapid::generate().unwrap()).unwrap();
        let now = Timestamp::from_second(1000).unwrap();
        let header = vapid.authorization("https://push.example.org:8443/a/b?c", now).unwrap();
        let (token, key) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, bytes(key));
        key.verify(signed.as_bytes(), &bytes(signature)).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&bytes(signed.split_once('.').unwrap().1)).unwrap();
        assert_eq!((&claims["aud"], &claims["exp"]), (&json!("https://push.example.org:8443"), &json!(44_200)));
        assert!(Vapid::read(b"none").is_err());
    }

    #[test]
    fn notices_go_to_push_services_that_are_known_and_to_nobody_else() {
        let hosts = ["push.example.org".to_owned(), "*.push.example.com".to_owned(), "127.0.0.1".to_owned()];
        let point = Base64UrlUnpadded::encode_string(&[[4; 1].as_slice(), &[9; 64]].concat());
        let with = |endpoint: &str, p256dh: &str, auth: &str| Subscription {
            endpoint: endpoint.to_owned(),
            keys: Keys { p256dh: p256dh.to_owned(), auth: auth.to_owned() },
        };
        let auth = Base64UrlUnpadded::encode_string(&[1; 16]);
        let to = |endpoint: &str| with(endpoint, &point, &auth).check(&hosts).is_ok();
        for fine in ["https://push.example.org/x", "https://web.push.example.com/x", "http://127.0.0.1:9/x"] {
            assert!(to(fine), "{fine}");
        }
        for odd in [
            "https://push.example.com/x",
            "https://.push.example.com/x",
            "https://evilpush.example.com/x",
            "https://push.example.org.evil.test/x",
            "https://push.example.org@evil.test/x",
            "http://push.example.org/x",
            "ftp://push.example.org/x",
            "https://10.0.0.1/x",
            "push.example.org",
        ] {
            assert!(!to(odd), "{odd}");
        }
        let fine = "https://push.example.org/x";
        assert!(with(fine, &auth, &auth).check(&hosts).is_err());
        assert!(with(fine, &point, &point).check(&hosts).is_err());
        assert!(with(fine, "*", &auth).check(&hosts).is_err());
        assert!(with(fine, &point, &auth).encrypt(b"x").is_err(), "that is no point of the curve");
    }

    proptest! {
        /// Arbitrary subscriptions are checked without a panic, and rejected if the host is unknown or the keys are
        /// invalid.
        #[test]
        fn a_device_is_one_of_a_known_push_service(
            endpoint in "(https?://)?(push\\.example|[a-z.:@/\\[\\]]{0,20})?\\PC{0,10}", p256dh in "[A-Za-z0-9_-]{0,90}", auth in "\\PC{0,24}"
        ) {
            let device = Subscription { endpoint, keys: Keys { p256dh, auth } };
            prop_assert!(device.check(&["push.example".to_owned()]).is_err(), "keys that are made up");
        }
    }
}
