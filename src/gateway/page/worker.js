// The service worker: shows the notifications that the gateway sends, and opens the page. It caches nothing, because a
// cached page would show outdated requests.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", () => {});

self.addEventListener("push", (event) => {
  const { title, body, action_id: id, urgent } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, {
    body, tag: id, data: { id }, icon: "/icon.svg", badge: "/icon.svg", requireInteraction: urgent === true,
  }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = `/#${event.notification.data.id}`;
  event.waitUntil((async () => {
    const [open] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    if (!open) return self.clients.openWindow(url);
    await open.navigate(url);
    return open.focus();
  })());
});
