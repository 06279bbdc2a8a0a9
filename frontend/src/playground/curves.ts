/** The curves of all policies, with bands of two standard errors, drawn while they come. */

import uPlot from "uplot";
import { integer } from "../dashboard/format";
import type { CurvePoint } from "./messages";

export type Metric = "regret" | "clicks";

const HEIGHT = 320;
const DIGITS = { regret: 1, clicks: 3 };

/** A value of a policy at a point, with its standard error: regret so far, or clicks per list so far. */
export function valueAt(point: CurvePoint, policy: string, metric: Metric): [number, number] {
  const [mean, error] = [point.means[policy]!, point.errors[policy]!];
  return metric === "regret" ? [mean[0], error[0]] : [mean[1] / point.step, error[1] / point.step];
}

export const valueText = ([mean, error]: [number, number], metric: Metric): string =>
  `${mean.toFixed(DIGITS[metric])} ± ${error.toFixed(DIGITS[metric])}`;

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draws into an element, which it fills. */
export class Curves {
  private plot: uPlot | undefined;
  private points: CurvePoint[] = [];
  private policies: string[] = [];
  private metric: Metric = "regret";
  private steps = 1;

  constructor(
    private readonly place: HTMLElement,
    private readonly readout: HTMLElement,
  ) {
    new ResizeObserver(() => this.resize()).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
  }

  /** Begin anew. */
  begin(policies: string[], steps: number): void {
    this.policies = policies;
    this.steps = steps;
    this.points = [];
    this.rebuild();
  }

  choose(metric: Metric): void {
    this.metric = metric;
    this.rebuild();
  }

  show(points: CurvePoint[]): void {
    this.points = points;
    this.plot?.setData(this.data());
    const last = points.at(-1);
    if (!last) return;
    const said = this.policies.map((each) => `${each} ${valueText(valueAt(last, each, this.metric), this.metric)}`);
    const what = this.metric === "regret" ? "Regret" : "Clicks per list";
    this.place.setAttribute("aria-label", `${what} after ${integer(last.step)} lists: ${said.join("; ")}`);
  }

  /** The picture with a legend below it. */
  picture(): HTMLCanvasElement | undefined {
    if (!this.plot) return undefined;
    const drawn = this.plot.ctx.canvas;
    const scale = devicePixelRatio || 1;
    const line = 22 * scale;
    const made = document.createElement("canvas");
    made.width = drawn.width;
    made.height = drawn.height + line * (this.policies.length + 1);
    const context = made.getContext("2d")!;
    context.fillStyle = colour("--card");
    context.fillRect(0, 0, made.width, made.height);
    context.drawImage(drawn, 0, 0);
    context.font = `${13 * scale}px system-ui, sans-serif`;
    this.policies.forEach((policy, at) => {
      const y = drawn.height + line * (at + 0.7);
      context.fillStyle = colour(`--c${at}`);
      context.fillRect(16 * scale, y - 10 * scale, 12 * scale, 12 * scale);
      context.fillStyle = colour("--ink");
      context.fillText(policy, 36 * scale, y);
    });
    return made;
  }

  private data(): uPlot.AlignedData {
    const columns: (number | null)[][] = [this.points.map((point) => point.step)];
    for (const policy of this.policies) {
      const values = this.points.map((point) => valueAt(point, policy, this.metric));
      columns.push(
        values.map(([mean, error]) => mean - 2 * error),
        values.map(([mean, error]) => mean + 2 * error),
        values.map(([mean]) => mean),
      );
    }
    return columns as uPlot.AlignedData;
  }

  private rebuild(): void {
    this.plot?.destroy();
    this.plot = undefined;
    if (!this.policies.length) return;
    const axis = {
      stroke: colour("--soft"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
      font: "12px system-ui, sans-serif",
    };
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    this.plot = new uPlot(
      {
        width: this.place.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { time: false, range: () => [0, this.steps] } },
        axes: [{ ...axis, values: (_, splits) => splits.map(integer), space: 80, label: "lists", labelSize: 20, labelFont: axis.font }, { ...axis, size: 56 }],
        series: [
          {},
          ...this.policies.flatMap((_, at) => [
            edge,
            edge,
            { stroke: colour(`--c${at}`), width: 2, points: { show: false } },
          ]),
        ],
        bands: this.policies.map((_, at) => ({ series: [3 * at + 2, 3 * at + 1], fill: `${colour(`--c${at}`)}2b` })),
        hooks: { setCursor: [(plot) => this.readOut(plot.cursor.idx ?? undefined)] },
      },
      this.data(),
      this.place,
    );
    this.show(this.points);
  }

  private resize(): void {
    const width = this.place.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  private readOut(at: number | undefined): void {
    const point = at === undefined ? undefined : this.points[at];
    const values = point && this.policies.map((each) => `${each} ${valueText(valueAt(point, each, this.metric), this.metric)}`);
    this.readout.textContent = point ? `${integer(point.step)} lists: ${values!.join("; ")}` : "";
  }
}
