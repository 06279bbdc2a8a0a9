/** The current order: estimates with their intervals, times examined, shares of recent lists by position, and trends. */

import { byId, element } from "./dom";
import { decimal, integer, percent } from "./format";
import type { LiveItem, RankingView } from "./messages";
import { bars, interval, trendline } from "./pictures";
import { address } from "./route";
import { VirtualRows, WINDOW } from "./virtual";

/** The part of the order that is looked at. */
export class OrderView {
  private offset = 0;
  private scale: [number, number] = [0, 0.01]; // it does not jump while one scrolls
  private readonly rows: VirtualRows;
  private readonly search = byId<HTMLInputElement>("find-item");

  constructor(changed: () => void) {
    this.rows = new VirtualRows(byId("items-box"), byId("items"), 7, (offset) => {
      this.offset = offset;
      changed();
    });
    let timer: number | undefined;
    this.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.offset = 0;
        this.rows.reset();
        changed();
      }, 200);
    });
  }

  /** Another ranking or segment is looked at. */
  reset(): void {
    this.offset = 0;
    this.scale = [0, 0.01];
    this.search.value = "";
    this.rows.reset();
  }

  /** What to ask for. */
  get query(): Record<string, string> {
    return { items: String(WINDOW), offset: String(this.offset), search: this.search.value.trim() };
  }

  show(state: RankingView): void {
    const { items } = state;
    this.scale = [
      Math.min(this.scale[0], ...items.map((row) => row.low ?? row.mean ?? 0)),
      Math.max(this.scale[1], ...items.map((row) => row.high ?? row.mean ?? 0)),
    ];
    this.rows.show(state.found, this.offset, items.map((row) => itemRow(row, state, this.scale)));
    byId("items-box").hidden = !state.found;
    byId("order").textContent = orderNote(state);
  }
}

function itemRow(row: LiveItem, state: RankingView, scale: [number, number]): HTMLTableRowElement {
  const { ranking, segment } = state;
  const link = element("a", { href: address(ranking.name, "change", segment ?? "", idText(row)) }, String(row.item));
  const pinned = Object.entries(ranking.pins).find(([, item]) => item === row.item)?.[0];
  const marks = [row.hidden ? "hidden" : "", pinned ? `pinned at ${pinned}` : ""].filter(Boolean).join(", ");
  const band: [number, number] | null = row.low === null || row.high === null ? null : [row.low, row.high];
  const words = band ? `${decimal(row.low)} to ${decimal(row.high)}` : "unknown";
  const line = element(
    "tr",
    {},
    element("td", {}, integer(row.place)),
    element("th", { scope: "row", title: String(row.item) }, link, ...(marks ? [element("span", { class: "tag" }, marks)] : [])),
    element("td", {}, decimal(row.mean)),
    element("td", { class: "bounds" }, interval(scale, row.mean, band), element("span", { class: "small" }, words)),
    element("td", { class: "wide" }, row.examined === null ? "–" : integer(row.examined)),
    element("td", { class: "shares wide" }, bars(row.shares), heard(row.shares.map((share, at) => `position ${at + 1}: ${percent(share, 0)}`))),
    element("td", { class: "wide" }, trendline(row.trend), heard(row.trend.map((share) => percent(share, 0)))),
  );
  if (row.place <= ranking.positions) line.className = "shown";
  return line;
}

/** The id of an item as text; an integer follows a tab, as in paths of the service. */
const idText = (row: LiveItem): string => (typeof row.item === "number" ? `\t${row.item}` : row.item);

const heard = (words: string[]): HTMLElement => element("span", { class: "heard" }, words.join(", "));

/** What the current order is, in words. */
function orderNote(state: RankingView): string {
  const { policy, positions, items, mode, holdout, stopped } = state.ranking;
  const by = state.items.some((row) => row.index !== null) ? "index" : "estimate";
  const why = stopped ? "the guardrail stopped the policy" : mode === "shadow" ? "mode shadow" : "the holdout is 100%";
  const isBaseline = stopped || mode === "shadow" || holdout === 1;
  return (
    (isBaseline ? `Everybody gets the baseline: ${why}. ` : "") +
    `${policy}, ${integer(positions)} positions, ${integer(items)} items` +
    (state.found === items ? "" : `, ${integer(state.found)} fit`) +
    `; the largest ${by} first. Shares are of the last ${integer(state.recent)} lists, by position; the trend is the ` +
    `share of these lists that show the item at all, the latest on the right.`
  );
}
