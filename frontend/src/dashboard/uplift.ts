/** The uplift of a ranking: both groups, difference and ratio with their intervals, by day and segment, and its checks. */

import { json, rankingPath, Refusal } from "./api";
import { byId, element } from "./dom";
import { decimal, integer, moment, percent, plural, signed } from "./format";
import type { Compared, Metric, Uplift, UpliftPart } from "./messages";
import { interval, scaleOf } from "./pictures";

const EVERY = 5000; // milliseconds
const NAMES: Record<string, string> = {
  click_through: "click-through",
  clicks_per_list: "clicks per list",
  clicks_at_1: "clicks at 1",
};

/** Reads the uplift now and then, as long as it is looked at. */
export class UpliftView {
  private timer: number | undefined;
  private name = "";
  private slices: "day" | "segment" = "day";

  constructor() {
    for (const by of ["day", "segment"] as const)
      byId(`by-${by}`).addEventListener("click", () => {
        this.slices = by;
        void this.read();
      });
  }

  start(name: string): void {
    this.stop();
    this.name = name;
    void this.read();
    this.timer = setInterval(() => void this.read(), EVERY);
  }

  stop(): void {
    clearInterval(this.timer);
    this.name = "";
  }

  private async read(): Promise<void> {
    const { name, slices } = this;
    let found: Uplift | undefined;
    let why = "";
    try {
      found = await json<Uplift>("GET", `${rankingPath(name)}/uplift?by=${slices}&limit=100`);
    } catch (problem) {
      if (!(problem instanceof Refusal)) return; // the live view says that the service is away
      why = problem.message;
    }
    if (name !== this.name || slices !== this.slices) return;
    byId("uplift-none").hidden = found !== undefined;
    byId("uplift-none").textContent = why;
    byId("uplift-found").hidden = found === undefined;
    if (found) this.show(found);
  }

  private show(uplift: Uplift): void {
    byId("uplift-head").textContent = headline(uplift);
    byId("uplift-groups").replaceChildren(...groups(uplift));
    byId("uplift-metrics").replaceChildren(...uplift.metrics.flatMap((metric) => metricRows(metric, uplift.metrics)));
    byId("uplift-checks").replaceChildren(...checks(uplift).map(([kind, text]) => element("li", { class: kind }, text)));
    for (const by of ["day", "segment"]) byId(`by-${by}`).setAttribute("aria-pressed", String(by === this.slices));
    const ratios = uplift.slices.map((slice) => clickThrough(slice)?.ratio ?? null);
    const scale = scaleOf(ratios, 1);
    byId("uplift-slices").replaceChildren(...uplift.slices.map((slice) => sliceRow(slice.name, slice, scale)));
    byId("slices-name").textContent = this.slices;
    const more = uplift.next === null ? "" : " The first 100 are shown; the others are in the reply of /uplift.";
    byId("slices-note").textContent = uplift.slices.length ? `Click-through, policy over holdout.${more}` : "None yet.";
  }
}

const clickThrough = (part: UpliftPart): Metric | undefined => part.metrics.find((each) => each.metric === "click_through");

function headline(uplift: Uplift): string {
  const ratio = clickThrough(uplift)?.ratio;
  if (!ratio) return "Too few visitors yet to compare the groups.";
  const change = ratio.estimate - 1;
  const said = `Click-through is ${percent(Math.abs(change))} ${change < 0 ? "lower" : "higher"} than that of the holdout`;
  const { sequence } = ratio;
  if (!sequence) return `${said}; there are too few visitors for an interval.`;
  const sure = sequence.low > 1 ? "certainly higher" : sequence.high < 1 ? "certainly lower" : "not certain yet";
  return `${said}: ${signed(sequence.low - 1)} to ${signed(sequence.high - 1)} with 95% confidence, ${sure}.`;
}

function groups(uplift: Uplift): HTMLElement[] {
  return (["policy", "holdout"] as const).map((group) => {
    const { visitors, lists } = uplift[group];
    const text = `${plural(visitors, "visitor")}, ${plural(lists, "list")}`;
    return element("div", {}, element("dt", {}, `${group}: ${text}`), element("dd", {}, shareOf(uplift[group].clicked, lists)));
  });
}

const shareOf = (part: number, whole: number): string => (whole ? percent(part / whole) : "–");

/** Both groups below a name, where there is no place for columns. */
const narrow = (policy: string, holdout: string): HTMLElement =>
  element("span", { class: "small narrow" }, `policy ${policy}, holdout ${holdout}`);

/** A row for the difference, and one for the ratio. */
function metricRows(metric: Metric, all: Metric[]): HTMLTableRowElement[] {
  const kinds: [string, Compared | null, (value: number) => string, number, (one: Metric) => Compared | null][] = [
    ["difference", metric.difference, (value) => signed(value, 4, false), 0, (one) => one.difference],
    ["ratio", metric.ratio, (value) => decimal(value), 1, (one) => one.ratio],
  ];
  return kinds.map(([kind, compared, text, mark, of]) => {
    const scale = scaleOf(all.map(of), mark);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, `${NAMES[metric.metric] ?? metric.metric}, ${kind}`, narrow(decimal(metric.policy), decimal(metric.holdout))),
      element("td", { class: "wide" }, decimal(metric.policy)),
      element("td", { class: "wide" }, decimal(metric.holdout)),
      element("td", {}, compared ? text(compared.estimate) : "–"),
      element("td", { class: "bounds" }, ...intervalCell(compared, scale, mark, text)),
      element("td", { class: "wide fixed" }, boundsText(compared?.fixed_horizon ?? null, text)),
    );
  });
}

function intervalCell(
  compared: Compared | null,
  scale: [number, number],
  mark: number,
  text: (value: number) => string,
): Node[] {
  if (!compared) return [element("span", { class: "small" }, "too few visitors")];
  const pair = (bounds: { low: number; high: number } | null): [number, number] | null => bounds && [bounds.low, bounds.high];
  const picture = interval(scale, compared.estimate, pair(compared.sequence), pair(compared.fixed_horizon), mark);
  return [picture, element("span", { class: "small" }, boundsText(compared.sequence, text))];
}

const boundsText = (bounds: { low: number; high: number } | null, text: (value: number) => string): string =>
  bounds ? `${text(bounds.low)} to ${text(bounds.high)}` : "too few visitors";

function sliceRow(name: string, slice: UpliftPart, scale: [number, number]): HTMLTableRowElement {
  const metric = clickThrough(slice);
  const ratio = metric?.ratio ?? null;
  const shares: [string, string] = [shareOf(slice.policy.clicked, slice.policy.lists), shareOf(slice.holdout.clicked, slice.holdout.lists)];
  return element(
    "tr",
    {},
    element("th", { scope: "row", title: name }, name, narrow(...shares)),
    element("td", { class: "wide" }, integer(slice.policy.visitors + slice.holdout.visitors)),
    ...shares.map((share) => element("td", { class: "wide" }, share)),
    element("td", { class: "bounds" }, ...intervalCell(ratio, scale, 1, decimal)),
  );
}

/** What is checked besides: how visitors come to the groups, and the guardrail. */
function checks(uplift: Uplift): [kind: string, text: string][] {
  const { sample_ratio: ratio, stopped } = uplift;
  const found: [string, string][] = [];
  if (ratio.observed === null) found.push(["", "Sample ratio: no visitors yet."]);
  else {
    const said = `${percent(ratio.observed, 2)} of visitors are in the holdout, ${percent(ratio.assigned, 2)} are assigned; p = ${ratio.p_value.toPrecision(2)}`;
    found.push(
      ratio.alarm
        ? ["ill", `Sample ratio: ALARM, ${said}. Something sends visitors to the groups unevenly; do not trust the uplift.`]
        : ["well", `Sample ratio: as assigned, ${said}.`],
    );
  }
  if (stopped)
    found.push([
      "ill",
      `Guardrail: back to the baseline since ${moment(stopped.at)}: ${NAMES[stopped.metric] ?? stopped.metric} was ` +
        `${decimal(stopped.ratio)} times that of the holdout, certainly below ${decimal(stopped.high)}. Give it a mode to go on.`,
    ]);
  found.push(["", `Measured since ${moment(uplift.since)}, mode ${uplift.mode}.`]);
  return found;
}
