//! Tests push notifications with a local push service and a device that decrypts them.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use crate::browser::MEDIUM;
use crate::channels::server::{ReceivedRequest, Server};
use crate::test_gateway::TestGateway;

/// A device that can decrypt one notification.
struct Device {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

const AUTH: [u8; 16] = [5; 16];

impl Device {
    fn new() -> Self {
        let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = private.compute_public_key().unwrap().as_ref().to_vec();
        Self { private, public }
    }

    fn subscription(&self, endpoint: &str) -> Value {
        let text = |bytes: &[u8]| Base64UrlUnpadded::encode_string(bytes);
        json!({ "endpoint": endpoint, "keys": { "p256dh": text(&self.public), "auth": text(&AUTH) } })
    }

    /// Returns the text of a notification, decrypted as RFC 8291 specifies for the device.
    fn read(self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (sender, sealed) = rest[5..].split_at(65);
        let derive = |salt: &[u8], secret: &[u8], info: &[&[u8]]| {
            let mut bytes = [0; 32];
            Salt::new(HKDF_SHA256, salt).extract(secret).expand(info, HKDF_SHA256).unwrap().fill(&mut bytes).unwrap();
            bytes
        };
        let with = UnparsedPublicKey::new(&ECDH_P256, sender);
        let input = agree_ephemeral(self.private, &with, |shared| {
            derive(&AUTH, shared, &[b"WebPush: info\0", &self.public, sender])
        });
        let input = input.unwrap();
        let key = derive(salt, &input, &[b"Content-Encoding: aes128gcm\0"]);
        let nonce = derive(salt, &input, &[b"Content-Encoding: nonce\0"]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key[..16]).unwrap());
        let nonce = Nonce::assume_unique_for_key(nonce[..12].try_into().unwrap());
        let mut sealed = sealed.to_vec();
        let text = key.open_in_place(nonce, Aad::empty(), &mut sealed).unwrap();
        let (end, text) = text.split_last().unwrap();
        assert_eq!(*end, 2, "one record alone");
        serde_json::from_slice(text).unwrap()
    }
}

fn header<'a>(asked: &'a ReceivedRequest, name: &str) -> &'a str {
    let mut lines = asked.head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
}

#[test]
fn a_device_is_told_of_what_waits_until_it_is_gone() {
    let service = Server::new(|asked| Some((if asked.path == "/gone" { 410 } else { 201 }, String::new())));
    let gateway = TestGateway::new("push_hosts = [\"127.0.0.1\"]\n");
    let (device, other) = (Device::new(), Device::new());
    let subscribe = |device: &Device, path: &str| {
        gateway.post("/v1/push", &gateway.person, &device.subscription(&format!("{}{path}", service.url()))).status
    };
    assert_eq!((subscribe(&device, "/phone"), subscribe(&other, "/gone")), (204, 204));
    let key = gateway.get("/v1/push", &gateway.person).body["key"].as_str().unwrap().to_owned();
    let mut agent = gateway.agent(MEDIUM);
    gateway.until(|| service.asked("/phone").len() == 1 && service.asked("/gone").len() == 1);
    let came = service.asked("/phone").remove(0);
    assert_eq!((header(&came, "content-encoding"), header(&came, "urgency")), ("aes128gcm", "high"));
    assert!(header(&came, "ttl").parse::<u32>().is_ok());
    assert!(header(&came, "authorization").ends_with(&format!(", k={key}")), "{}", came.head);
    assert!(!came.text.contains("left-pad"), "the push service reads nothing");
    let told = device.read(&came.bytes);
    let waiting = gateway.waiting();
    assert_eq!((&told["body"], &told["action_id"]), (&json!(MEDIUM), &waiting["action_id"]), "{told}");
    gateway.post(&format!("/v1/requests/{}/deny", waiting["action_id"].as_str().unwrap()), &gateway.person, &json!({}));
    agent.wait().unwrap();
    // A device that is gone is not notified again, and the other one still is.
    let mut agent = gateway.agent(MEDIUM);
    gateway.until(|| service.asked("/phone").len() == 2);
    assert_eq!(service.asked("/gone").len(), 1);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
    let endpoint = json!({ "endpoint": format!("{}/phone", service.url()) });
    assert_eq!(gateway.post("/v1/push/remove", &gateway.client, &endpoint).status, 403);
    assert_eq!(gateway.post("/v1/push/remove", &gateway.person, &endpoint).status, 204);
    assert_eq!(gateway.post("/v1/push/remove", &gateway.person, &endpoint).status, 404);
}

#[test]
fn only_push_services_are_told_and_only_for_those_who_may_read() {
    let gateway = TestGateway::new("");
    let at =
        |endpoint: &str, token: &str| gateway.post("/v1/push", token, &Device::new().subscription(endpoint)).status;
    assert_eq!(at("http://127.0.0.1:9/x", &gateway.person), 400, "unless gateway.toml names it");
    assert_eq!(at("https://169.254.169.254/latest", &gateway.person), 400);
    assert_eq!(at("https://updates.push.services.mozilla.com/wpush/v2/x", &gateway.person), 204);
    assert_eq!(at("https://updates.push.services.mozilla.com/wpush/v2/x", &gateway.client), 403);
    assert_eq!(gateway.get("/v1/push", &gateway.client).status, 403);
}
