/**
 * The outbox: reports that no reply has confirmed yet, kept in the browser's storage across pages.
 *
 * A report has everything that its page knows of the list, and the service merges reports. So one can be sent any
 * number of times, and the last one per list and page is all that is kept.
 */

const PREFIX = "toplist:";
const PAGE = "." + Math.random().toString(36).slice(2); // the same list may be open in two pages
const DAY = 86_400_000; // milliseconds by which the visitor's clock may be wrong
const FIRST_WAIT = 2000; // milliseconds until the next attempt
const LONGEST_WAIT = 300_000;

const memory = new Map<string, string>(); // where the storage is blocked or full
let wait = FIRST_WAIT;
let waiting: number | undefined;

/** Keep the report of a list, in place of the one before. */
export function keep(token: string, endpoint: string, body: string): void {
  const key = PREFIX + token + PAGE;
  const value = JSON.stringify([endpoint, body]);
  try {
    localStorage.setItem(key, value);
    memory.delete(key);
  } catch {
    memory.set(key, value);
  }
}

/** Send the report that is kept for a list; `isLeaving` says that the page may be about to end. */
export function send(token: string, isLeaving: boolean): void {
  sendKey(PREFIX + token + PAGE, isLeaving);
}

/** Send all reports that are kept, also those of earlier pages. */
export function sendAll(): void {
  let stored: string[] = [];
  try {
    stored = Object.keys(localStorage);
  } catch {
    // blocked
  }
  for (const key of new Set([...stored, ...memory.keys()])) if (key.startsWith(PREFIX)) sendKey(key);
}

function read(key: string): string | null {
  try {
    return memory.get(key) ?? localStorage.getItem(key); // what is in memory is later
  } catch {
    return null;
  }
}

/** Remove a report, unless a later one has taken its place meanwhile. */
function drop(key: string, value: string): void {
  if (read(key) !== value) return;
  memory.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // blocked
  }
}

function sendKey(key: string, isLeaving = false): void {
  const value = read(key);
  if (value === null) return;
  let endpoint: string, body: string;
  try {
    [endpoint, body] = JSON.parse(value);
  } catch {
    return drop(key, value); // somebody else's
  }
  // A token is 1.ID.EXPIRES.IMPRESSION.SIGNATURE; after its end, the service takes no reports.
  if (Number(key.split(".")[2]) * 1000 + DAY < Date.now()) return drop(key, value);
  if (isLeaving) {
    // No reply will confirm it, so it stays in the outbox for this page, if it is shown again, or the next one.
    navigator.sendBeacon(endpoint, body);
    return;
  }
  fetch(endpoint, { method: "POST", body, keepalive: true, credentials: "omit" }).then((reply) => {
    if (reply.status >= 500 || reply.status === 429 || reply.status === 408) return later();
    wait = FIRST_WAIT;
    drop(key, value); // taken, or refused for good
  }, later);
}

/** Try again in a while, and ever more rarely. */
function later(): void {
  if (waiting !== undefined) return;
  waiting = setTimeout(() => {
    waiting = undefined;
    sendAll();
  }, wait);
  wait = Math.min(2 * wait, LONGEST_WAIT);
}

addEventListener("online", sendAll);
addEventListener("pageshow", (event) => {
  if (event.persisted) sendAll(); // back from the back-forward cache
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") sendAll();
});
sendAll(); // what earlier pages could not send
