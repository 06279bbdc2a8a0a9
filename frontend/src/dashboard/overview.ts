/** The overview: every ranking with its lists, reports, click-through over time, and uplift. */

import { byId, element } from "./dom";
import { clock, integer, percent, plural, signed } from "./format";
import type { Overview, RankingSummary } from "./messages";
import { sparkline } from "./pictures";
import { address } from "./route";
import { VirtualRows, WINDOW } from "./virtual";

/** The part of the overview that is looked at. */
export class OverviewView {
  private offset = 0;
  private readonly rows: VirtualRows;
  private readonly search = byId<HTMLInputElement>("find-ranking");
  private readonly sort = byId<HTMLSelectElement>("sort-rankings");

  constructor(changed: () => void) {
    this.rows = new VirtualRows(byId("rankings-box"), byId("rankings"), 6, (offset) => {
      this.offset = offset;
      changed();
    });
    let timer: number | undefined;
    const again = () => {
      this.offset = 0;
      this.rows.reset();
      changed();
    };
    this.search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(again, 200);
    });
    this.sort.addEventListener("change", again);
  }

  /** Where the state of this view is. */
  get path(): string {
    const given = { updates: "10000", limit: String(WINDOW), offset: String(this.offset), sort: this.sort.value };
    return `v1/live?${new URLSearchParams({ ...given, search: this.search.value.trim() })}`;
  }

  show(state: Overview): void {
    this.rows.show(state.found, this.offset, state.rankings.map(rankingRow));
    const fit = state.found === state.total ? "" : `, ${integer(state.found)} fit`;
    const reading = state.complete ? "" : "; the log is still being read";
    byId("overview-note").textContent = state.total
      ? `${plural(state.total, "ranking")}${fit}. Click-through is the share of lists with a click, with a 95% band${reading}.`
      : "No rankings yet.";
    byId("rankings-box").hidden = !state.found;
  }
}

function rankingRow(row: RankingSummary): HTMLTableRowElement {
  const about = `${row.policy}${row.mode === "live" ? "" : `, ${row.mode}`}`;
  const { short, rest, kind } = against(row);
  const name = element("a", { href: address(row.name) }, row.name);
  const narrow = element("span", { class: "small narrow" }, `${plural(row.lists, "list")}; ${short} ${rest}`);
  const share = row.lists ? percent(row.clicked / row.lists) : "–";
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name, element("span", { class: "small about" }, about), narrow),
    element("td", { class: "wide" }, integer(row.lists)),
    element("td", { class: "wide" }, integer(row.reports)),
    element("td", {}, share),
    element("td", { class: "over-time" }, sparkline(row.curve), latest(row)),
    element("td", { class: "wide against" }, element("span", { class: kind }, short), element("span", { class: "small" }, rest)),
  );
}

function latest(row: RankingSummary): HTMLElement {
  return element("span", { class: "heard" }, row.latest ? `latest list learned at ${clock(row.latest)}` : "no lists yet");
}

/** How a ranking does against its holdout, or against its reference, and whether that is certain. */
function against(row: RankingSummary): { short: string; rest: string; kind: string } {
  if (row.stopped) return { short: "stopped", rest: "by its guardrail", kind: "ill" };
  const ratio = row.uplift?.ratio;
  if (ratio) {
    const short = signed(ratio.estimate - 1);
    const bounds = ratio.sequence;
    if (!bounds) return { short, rest: "too few visitors for an interval", kind: "" };
    const kind = bounds.low > 1 ? "well" : bounds.high < 1 ? "ill" : "";
    return { short, rest: `${signed(bounds.low - 1)} to ${signed(bounds.high - 1)}, holdout`, kind };
  }
  if (row.holdout > 0) return { short: "–", rest: "too few visitors in the holdout", kind: "" };
  if (row.reference !== null && row.lists) {
    const points = signed(100 * (row.clicked / row.lists - row.reference), 1, false);
    return { short: `${points} points`, rest: `reference ${percent(row.reference)}`, kind: "" };
  }
  return { short: "–", rest: "no holdout", kind: "" };
}
