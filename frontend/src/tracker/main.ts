/** The tracker as the service serves it: tracks every list of the page that has a token. */

import { track, type Tracked } from "./track";

export { track };
export type { Tracked, TrackOptions } from "./track";

const endpoint = new URL("../v1/reports", import.meta.url).href; // this file is /assets/tracker.js of the service
const tracked = new WeakSet<Element>();

/**
 * Track all elements with `data-toplist`, the token of a list, that are not tracked yet.
 *
 * With `data-toplist-open`, leaving the page does not close the list.
 */
export function trackAll(root: ParentNode = document): Tracked[] {
  return Array.from(root.querySelectorAll("[data-toplist]"))
    .filter((list) => !tracked.has(list))
    .map((list) => {
      tracked.add(list);
      const token = list.getAttribute("data-toplist") as string;
      return track(list, { token, endpoint, final: !list.hasAttribute("data-toplist-open") });
    });
}

trackAll();
