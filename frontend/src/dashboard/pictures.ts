/** Small pictures beside numbers; each has its numbers as text next to it, so that it is hidden from screen readers. */

import { svg } from "./dom";
import { wilson } from "./format";
import type { Compared } from "./messages";

const HEIGHT = 28;

/** Click-through over time, with a 95% band. */
export function sparkline(curve: [number, number][], width = 120): SVGElement {
  const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true", class: "spark" });
  const points = curve.filter(([lists]) => lists > 0);
  if (points.length < 2) return picture;
  const bands = points.map(([lists, clicked]) => wilson(clicked, lists));
  const most = Math.max(0.01, ...bands.map(([, high]) => high));
  const x = (at: number) => ((width - 4) * at) / (points.length - 1) + 2;
  const y = (share: number) => HEIGHT - 2 - ((HEIGHT - 4) * share) / most;
  const upper = bands.map(([, high], at) => `${x(at)},${y(high)}`);
  const lower = bands.map(([low], at) => `${x(at)},${y(low)}`).reverse();
  picture.append(svg("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  const line = points.map(([lists, clicked], at) => `${x(at)},${y(clicked / lists)}`).join(" ");
  picture.append(svg("polyline", { class: "line", points: line }));
  return picture;
}

/** Shares of successive parts, as a line. */
export function trendline(shares: number[], width = 80): SVGElement {
  const picture = svg("svg", { viewBox: `0 0 ${width} 20`, "aria-hidden": "true", class: "trend" });
  if (shares.length < 2) return picture;
  const x = (at: number) => ((width - 4) * at) / (shares.length - 1) + 2;
  const points = shares.map((share, at) => `${x(at)},${18 - 16 * share}`).join(" ");
  picture.append(svg("polyline", { class: "line", points }));
  return picture;
}

/** Bars, one per position. */
export function bars(shares: number[]): SVGElement {
  const step = 10;
  const width = step * Math.max(1, shares.length);
  const picture = svg("svg", { viewBox: `0 0 ${width} 20`, width, height: 20, "aria-hidden": "true" });
  shares.forEach((share, at) => {
    const height = Math.max(1, 20 * share);
    picture.append(svg("rect", { class: "share", x: at * step, y: 20 - height, width: step - 2, height }));
  });
  return picture;
}

/** A number with its interval, on a scale from `from` to `to`; a second, narrower one in it, and a mark. */
export function interval(
  scale: [from: number, to: number],
  estimate: number | null,
  outer: [number, number] | null,
  inner: [number, number] | null = null,
  mark: number | null = null,
): SVGElement {
  const width = 160;
  const [from, to] = scale;
  const x = (value: number) => 4 + ((width - 8) * (Math.min(to, Math.max(from, value)) - from)) / (to - from || 1);
  const picture = svg("svg", { viewBox: `0 0 ${width} 14`, "aria-hidden": "true", class: "interval" });
  const bar = (kind: string, [low, high]: [number, number], y: number, height: number) =>
    picture.append(svg("rect", { class: kind, x: x(low), y, width: Math.max(2, x(high) - x(low)), height, rx: 4 }));
  if (outer) bar("band", outer, 2, 10);
  if (inner) bar("inner", inner, 5, 4);
  if (mark !== null) picture.append(svg("line", { class: "mark", x1: x(mark), x2: x(mark), y1: 0, y2: 14 }));
  if (estimate !== null) picture.append(svg("circle", { class: "mean", cx: x(estimate), cy: 7, r: 3.5 }));
  return picture;
}

/** A scale that holds all intervals, and a mark. */
export function scaleOf(compared: (Compared | null)[], mark: number): [number, number] {
  const values = [mark];
  for (const each of compared) {
    const bounds = each?.sequence ?? each?.fixed_horizon;
    if (each) values.push(each.estimate);
    if (bounds) values.push(bounds.low, bounds.high);
  }
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = 0.05 * (high - low) || 0.01;
  return [low - room, high + room];
}
