/** The current order: estimates with their intervals, times examined, and shares of recent lists by position. */

import { element, svg } from "./dom";
import { decimal, integer, percent } from "./format";
import type { LiveItem, RankingView } from "./messages";

const WIDTH = 160;

/** The rows of the table. */
export function orderRows(state: RankingView): HTMLTableRowElement[] {
  const most = Math.max(0.01, ...state.items.map((row) => row.high ?? row.mean ?? 0));
  return state.items.map((row, at) => {
    const place = element("td", {}, String(at + 1));
    const name = element("th", { scope: "row" }, String(row.item));
    const estimate = element("td", {}, decimal(row.mean));
    const bounds = element("td", { class: "bounds" }, interval(row, most), words(row));
    const examined = element("td", {}, row.examined === null ? "–" : integer(row.examined));
    const shares = element("td", { class: "shares" }, bars(row.shares), shareWords(row.shares));
    const line = element("tr", {}, place, name, estimate, bounds, examined, shares);
    if (at < state.ranking.positions) line.className = "shown";
    return line;
  });
}

/** What the current order is, in words. */
export function orderNote(state: RankingView): string {
  const { policy, positions, items, mode, holdout, stopped } = state.ranking;
  const rest = items - state.items.length;
  const by = state.items.some((row) => row.index !== null) ? "index" : "estimate";
  const why = stopped ? "the guardrail stopped the policy" : mode === "shadow" ? "mode shadow" : "the holdout is 100%";
  const isBaseline = stopped || mode === "shadow" || holdout === 1;
  return (
    (isBaseline ? `Everybody gets the baseline: ${why}. ` : "") +
    `${policy}, ${integer(positions)} positions, ${integer(items)} items` +
    (rest > 0 ? `, the first ${integer(state.items.length)} shown` : "") +
    `; the largest ${by} first. Shares are of the last ${integer(state.recent)} lists, by position.`
  );
}

function words(row: LiveItem): HTMLElement {
  const text = row.low === null || row.high === null ? "unknown" : `${decimal(row.low)} to ${decimal(row.high)}`;
  return element("span", { class: "small" }, text);
}

function interval(row: LiveItem, most: number): SVGElement {
  const x = (value: number) => (WIDTH * Math.min(most, Math.max(0, value))) / most;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} 12`, "aria-hidden": "true", class: "interval" });
  if (row.low !== null && row.high !== null) {
    const width = Math.max(2, x(row.high) - x(row.low));
    picture.append(svg("rect", { class: "band", x: x(row.low), y: 2, width, height: 8, rx: 4 }));
  }
  if (row.mean !== null) picture.append(svg("circle", { class: "mean", cx: x(row.mean), cy: 6, r: 3.5 }));
  return picture;
}

function bars(shares: number[]): SVGElement {
  const step = 10;
  const picture = svg("svg", {
    viewBox: `0 0 ${step * Math.max(1, shares.length)} 20`,
    width: step * Math.max(1, shares.length),
    height: 20,
    "aria-hidden": "true",
  });
  shares.forEach((share, at) => {
    const height = Math.max(1, 20 * share);
    picture.append(svg("rect", { class: "share", x: at * step, y: 20 - height, width: step - 2, height }));
  });
  return picture;
}

function shareWords(shares: number[]): HTMLElement {
  const text = shares.map((share, at) => `position ${at + 1}: ${percent(share, 0)}`).join(", ");
  return element("span", { class: "heard" }, text);
}
