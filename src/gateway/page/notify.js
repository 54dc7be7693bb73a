// Notifications on this device: registers the service worker that shows them, and subscribes to web push.

// The URL of a worker's script loads code, so only this one is trusted.
const own = globalThis.trustedTypes?.createPolicy("guard", {
  createScriptURL: (url) => { if (url === "/worker.js") return url; throw new TypeError(`${url} is no script of this page`); },
});

function bytes(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** Registers the worker, and makes a button turn notifications on and off. */
export async function notifier(button, call, say) {
  if (!("serviceWorker" in navigator)) return;
  let registration;
  try {
    await navigator.serviceWorker.register(own ? own.createScriptURL("/worker.js") : "/worker.js");
    registration = await navigator.serviceWorker.ready;
  } catch {
    return; // Without the worker, only notifications are missing.
  }
  if (!("PushManager" in window) || !("Notification" in window)) return;
  const draw = async () => {
    const is = await registration.pushManager.getSubscription();
    button.textContent = is ? "Stop notifications" : "Notify me here";
    button.hidden = false;
    return is;
  };
  await draw();
  button.onclick = async () => {
    button.disabled = true;
    try {
      const before = await draw();
      if (before) {
        await call("POST", "/v1/push/remove", { endpoint: before.endpoint });
        await before.unsubscribe();
        say("This device no longer gets notifications.");
      } else if (await Notification.requestPermission() === "granted") {
        const { key } = await call("GET", "/v1/push");
        const made = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
        const { endpoint, keys } = made.toJSON();
        await call("POST", "/v1/push", { endpoint, keys }).catch(async (error) => { await made.unsubscribe(); throw error; });
        say("This device gets notifications about new requests.");
      } else {
        say("The browser does not allow notifications from this page.");
      }
    } catch (error) {
      say(error.message);
    }
    await draw();
    button.disabled = false;
  };
}
