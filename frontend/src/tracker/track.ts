/** Reports what a visitor saw and clicked of one list, to the service that made the list. */

import { keep, send } from "./outbox";

/** How to track a list. */
export interface TrackOptions {
  /** The token that came with the list. */
  token: string;
  /** Where reports go: the service's `/v1/reports`. */
  endpoint: string;
  /** Milliseconds in view, in all, after which an item counts as seen; 1000 by default. */
  seenAfter?: number;
  /** Share of an item, or of the window, that must be in view; 0.5 by default. */
  seenShare?: number;
  /** Whether leaving the page for good closes the list; false if a cache may show the same page again. */
  final?: boolean;
}

/** A list that is tracked. */
export interface Tracked {
  /** Report what is known, and track it no longer; the list stays open. */
  stop(): void;
}

interface Item {
  readonly position: number;
  inside: boolean; // whether enough of it is in the window
  since: number | undefined; // when it came into view, if it is
  viewed: number; // milliseconds before that
}

// Milliseconds until news are reported, unless the page is hidden before. A report takes most of a millisecond of the
// page's time, so that what came into view, which is reported at the end anyway, is reported rarely.
const CLICKS_AFTER = 2000;
const VIEWS_AFTER = 30_000;
const POSITION = "data-toplist-position";
const CLICKABLE = "a,button,[data-toplist-click]";

/**
 * Track a list: its elements with `data-toplist-position`, else its children in order.
 *
 * Clicks on links, buttons and elements with `data-toplist-click` count, by mouse, middle mouse button, touch or
 * keyboard, once per item.
 */
export function track(list: Element, options: TrackOptions): Tracked {
  const { token, endpoint, seenAfter = 1000, seenShare = 0.5, final = true } = options;
  const items = new Map<Element, Item>();
  const clicked = new Set<number>();
  let timer: number | undefined;
  let due = Infinity; // of the timer
  let isOver = false;

  const marked = list.querySelectorAll(`[${POSITION}]`);
  Array.from(marked.length ? marked : list.children).forEach((element, at) => {
    const position = Number(element.getAttribute(POSITION)) || at + 1;
    items.set(element, { position, inside: false, since: undefined, viewed: 0 });
  });

  const time = (item: Item) => item.viewed + (item.since === undefined ? 0 : performance.now() - item.since);
  const isSeen = (item: Item) => clicked.has(item.position) || time(item) >= seenAfter;
  const entries = (positions: Iterable<number>) => Array.from(positions, (position) => ({ position }));

  /** Everything that is known of the list. */
  const bodyOf = (isFinal: boolean) => {
    const seen = [...items.values()].filter(isSeen).map((item) => item.position);
    const left = seen.length ? { position: Math.max(...seen) } : null;
    return JSON.stringify({ token, clicks: entries(clicked), seen: entries(seen), left, final: isFinal });
  };
  let kept = bodyOf(false); // nothing is known yet, which needs no report
  let isUnsent = false; // whether the report that is kept was not sent yet

  /** Keep what is new in the outbox. */
  const note = (isFinal = false) => {
    const body = bodyOf(isFinal);
    if (isOver || body === kept) return;
    keep(token, endpoint, body);
    kept = body;
    isOver = isFinal;
    isUnsent = true;
  };
  const report = (isFinal = false, isLeaving = false) => {
    note(isFinal);
    if (isUnsent) send(token, isLeaving);
    isUnsent = false;
  };

  const soon = (delay: number) => {
    const at = performance.now() + delay;
    if (at >= due) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(() => {
      due = Infinity;
      report();
      if ([...items.values()].some((item) => item.since !== undefined && !isSeen(item))) soon(VIEWS_AFTER);
    }, delay);
  };

  const measure = () => {
    const isVisible = document.visibilityState === "visible";
    for (const item of items.values()) {
      const inView = item.inside && isVisible;
      if (inView === (item.since !== undefined)) continue;
      item.viewed = time(item);
      item.since = inView ? performance.now() : undefined;
      if (inView && !isSeen(item)) soon(VIEWS_AFTER);
    }
  };

  const onView: IntersectionObserverCallback = (changes) => {
    for (const { target, isIntersecting, intersectionRatio, intersectionRect, boundingClientRect, rootBounds } of changes) {
      const window = rootBounds?.height ?? Infinity;
      const item = items.get(target);
      if (item) item.inside = isIntersecting && (intersectionRatio >= seenShare || intersectionRect.height >= seenShare * window);
      if (boundingClientRect.height > window) fine.observe(target); // it may fill the window long before its share is in view
    }
    measure();
  };
  const observer = new IntersectionObserver(onView, { threshold: seenShare });
  const fine = new IntersectionObserver(onView, { threshold: [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8] });

  const onClick = (event: Event) => {
    const target = event.target as Element;
    const isMiddle = event.type === "auxclick";
    if (!event.isTrusted || (isMiddle && (event as MouseEvent).button !== 1)) return;
    const link = target.closest(CLICKABLE);
    if (!link || !list.contains(link)) return;
    for (let node: Element | null = target; node && node !== list; node = node.parentElement) {
      const item = items.get(node);
      if (!item) continue;
      clicked.add(item.position);
      note(); // at once, as the page may end; it is sent when it does, or soon
      soon(CLICKS_AFTER);
      return;
    }
  };

  const onHidden = () => {
    measure();
    if (document.visibilityState === "hidden") report(false, true); // perhaps for a moment: not final
  };
  const onPageHide = (event: PageTransitionEvent) => report(final && !event.persisted, true);

  for (const element of items.keys()) observer.observe(element);
  list.addEventListener("click", onClick, true);
  list.addEventListener("auxclick", onClick, true);
  document.addEventListener("visibilitychange", onHidden);
  addEventListener("pagehide", onPageHide);

  return {
    stop() {
      report();
      isOver = true;
      clearTimeout(timer);
      observer.disconnect();
      fine.disconnect();
      list.removeEventListener("click", onClick, true);
      list.removeEventListener("auxclick", onClick, true);
      document.removeEventListener("visibilitychange", onHidden);
      removeEventListener("pagehide", onPageHide);
    },
  };
}
