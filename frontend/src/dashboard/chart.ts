/** Click-through over time, with a 95% band, holdout, reference, and changes: of the ranking, and detected by its policy. */

import uPlot from "uplot";
import { percent, timeLabels, wilson } from "./format";
import type { RankingView, Point } from "./messages";

const MOST_POINTS = 80;
const SMOOTHING = 2; // points on either side
const HEIGHT = 240;
const COLOURS: Record<string, string> = { ranking: "--mark", items: "--soft", detected: "--accent", stopped: "--ill" };

export interface Curve {
  times: number[]; // seconds
  shares: number[];
  low: number[];
  high: number[];
  lists: number[]; // that each share is of
}

/** The curve of a history: neighbours are merged, and each share is that of a few of them. */
export function curveOf(points: Point[]): Curve {
  const size = Math.ceil(points.length / MOST_POINTS) || 1;
  const groups: { lists: number; clicked: number; time: number }[] = [];
  points.forEach((point, at) => {
    if (at % size === 0) groups.push({ lists: 0, clicked: 0, time: 0 });
    const last = groups[groups.length - 1]!;
    last.lists += point.lists;
    last.clicked += point.clicked;
    last.time = Date.parse(point.until) / 1000;
  });
  const curve: Curve = { times: [], shares: [], low: [], high: [], lists: [] };
  groups.forEach((group, at) => {
    const near = groups.slice(Math.max(0, at - SMOOTHING), at + SMOOTHING + 1);
    const lists = near.reduce((sum, each) => sum + each.lists, 0);
    const clicked = near.reduce((sum, each) => sum + each.clicked, 0);
    const [low, high] = wilson(clicked, lists);
    curve.times.push(group.time);
    curve.shares.push(clicked / lists);
    curve.low.push(low);
    curve.high.push(high);
    curve.lists.push(lists);
  });
  return curve;
}

/** The click-through of the holdout so far, where all segments are looked at. */
export const holdoutOf = (state: RankingView): number | null =>
  state.segment === null ? (state.uplift?.holdout ?? null) : null;

/** Draws into an element, which it fills. */
export class Chart {
  private plot: uPlot | undefined;
  private changes: { at: string; kind: string }[] = [];
  private curve: Curve = curveOf([]);
  private last: RankingView | undefined;

  constructor(
    private readonly place: HTMLElement,
    private readonly readout: HTMLElement,
  ) {
    new ResizeObserver(() => this.resize()).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.plot?.destroy(); // its colours are those of the other theme
      this.plot = undefined;
      if (this.last) this.show(this.last);
    });
  }

  show(state: RankingView): void {
    this.last = state;
    const detected = state.detected.flatMap(({ at }) => (at === null ? [] : [{ at, kind: "detected" }]));
    this.changes = [...state.changes, ...detected];
    this.curve = curveOf(state.history.points);
    const { times, shares, low, high } = this.curve;
    const isEmpty = times.length < 2;
    this.place.hidden = isEmpty;
    if (isEmpty) return;
    const [reference, holdout] = [state.ranking.reference, holdoutOf(state)].map((share) => times.map(() => share));
    this.plot ??= this.make();
    this.plot.setData([times, low, high, shares, reference, holdout] as uPlot.AlignedData);
    this.resize();
    const latest = shares.length - 1;
    this.place.setAttribute(
      "aria-label",
      `Click-through rate over time: ${percent(shares[0]!)} at first, now ${percent(shares[latest]!)}, ` +
        `95% interval ${percent(low[latest]!)} to ${percent(high[latest]!)}`,
    );
  }

  private resize(): void {
    const width = this.place.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  private make(): uPlot {
    const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = {
      stroke: colour("--soft"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    return new uPlot(
      {
        width: this.place.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { y: { range: (_, least, most) => [Math.max(0, least - 0.02), Math.min(1, most + 0.02)] } },
        axes: [
          { ...axis, space: 70, values: (_, splits, __, ___, step) => timeLabels(splits, step) },
          { ...axis, size: 52, values: (_, splits) => splits.map((share) => percent(share, 0)) },
        ],
        series: [
          {},
          edge,
          edge,
          { stroke: colour("--accent"), width: 2, points: { show: false } },
          { stroke: colour("--soft"), width: 1.5, dash: [6, 5], points: { show: false } },
          { stroke: colour("--mark"), width: 2, dash: [2, 4], points: { show: false } },
        ],
        bands: [{ series: [2, 1], fill: colour("--wash") }],
        hooks: {
          draw: [(plot) => this.drawChanges(plot, (kind) => colour(COLOURS[kind] ?? "--mark"))],
          setCursor: [(plot) => this.readOut(plot.cursor.idx ?? undefined)],
        },
      },
      [[], [], [], [], [], []],
      this.place,
    );
  }

  /** A dotted line for each change, with the first letter of its kind. */
  private drawChanges(plot: uPlot, colourOf: (kind: string) => string): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.setLineDash([2, 3]);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    for (const { at, kind } of this.changes) {
      const x = plot.valToPos(Date.parse(at) / 1000, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = colourOf(kind);
      ctx.fillText(kind[0]!.toUpperCase(), x + 3 * devicePixelRatio, bbox.top);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  private readOut(at: number | undefined): void {
    const { times, shares, low, high, lists } = this.curve;
    if (at === undefined || times[at] === undefined) {
      this.readout.textContent = "";
      return;
    }
    const time = new Date(times[at]! * 1000).toLocaleString("en", { hour12: false });
    this.readout.textContent =
      `${time}: ${percent(shares[at]!)} (${percent(low[at]!)} to ${percent(high[at]!)}) of ${lists[at]} lists`;
  }
}
