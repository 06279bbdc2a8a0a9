/** Reports what a visitor saw and clicked of one list, to the service that made the list. */
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
/**
 * Track a list: its elements with `data-toplist-position`, else its children in order.
 *
 * Clicks on links, buttons and elements with `data-toplist-click` count, by mouse, middle mouse button, touch or
 * keyboard, once per item.
 */
export declare function track(list: Element, options: TrackOptions): Tracked;
