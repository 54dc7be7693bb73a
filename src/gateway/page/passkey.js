// Passkeys: creates one when a terminal requests it, and signs approvals with it.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Returns the reason why passkeys cannot be used here, or an empty text if they can. */
export function unable() {
  if (!window.isSecureContext) return "Passkeys need https or localhost.";
  return window.PublicKeyCredential ? "" : "This browser does not support passkeys.";
}

/** Creates the passkey of a pairing, and returns it in the format that guard reads. */
export async function make({ name, challenge, rp_id, user_id, exclude }) {
  const made = await navigator.credentials.create({
    publicKey: {
      rp: { id: rp_id, name: "guard" },
      user: { id: bytes(user_id), name, displayName: name },
      challenge: bytes(challenge),
      pubKeyCredParams: [{ type: "public-key", alg: -7 }, { type: "public-key", alg: -8 }],
      authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
      attestation: "none",
      excludeCredentials: exclude.map((id) => ({ type: "public-key", id: bytes(id) })),
      timeout: 110000,
    },
  });
  return { clientDataJSON: text(made.response.clientDataJSON), attestationObject: text(made.response.attestationObject) };
}

/** Signs a challenge with one of the allowed passkeys. */
export async function sign({ challenge, allow }) {
  const here = allow.filter((key) => key.rp_id === location.hostname);
  if (here.length === 0) throw new Error(`No passkey exists for ${location.hostname}; create one with guard approver add NAME --passkey`);
  const given = await navigator.credentials.get({
    publicKey: {
      challenge: bytes(challenge),
      rpId: location.hostname,
      allowCredentials: here.map((key) => ({ type: "public-key", id: bytes(key.id) })),
      userVerification: "required",
      timeout: 60000,
    },
  });
  return {
    id: text(given.rawId),
    authenticatorData: text(given.response.authenticatorData),
    clientDataJSON: text(given.response.clientDataJSON),
    signature: text(given.response.signature),
  };
}
