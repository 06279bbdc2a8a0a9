/** The last events with what became of them, the changes, and counts of reports and requests. */

import { byId, element } from "./dom";
import { clock, integer, moment, percent } from "./format";
import type { LiveEvent, RankingView } from "./messages";

export function showEvents(state: RankingView): void {
  byId("events").replaceChildren(...state.events.map(eventRow));
  byId("none").hidden = state.events.length > 0;
  showCounts("reports", state.reports);
  showCounts("requests", state.requests);
}

/** Changes of settings and items, and those that the policy has detected, the latest first. */
export function showChanges(state: RankingView): void {
  const detected = state.detected.map(({ at, item, mean }) => ({
    at: at ?? "",
    kind: "detected",
    detail: `${item}: its mean was ${percent(mean)} until then`,
    by: "the policy",
  }));
  const all = [...state.changes, ...detected].sort((one, other) => other.at.localeCompare(one.at));
  byId("changes").replaceChildren(
    ...all.map(({ at, kind, detail, by }) =>
      element("li", {}, element("time", { datetime: at }, at ? moment(at) : "earlier"), " ", tag(kind), " ", by ? `${detail}, by ${by}` : detail),
    ),
  );
  byId("changes-part").hidden = !all.length;
  byId("changes-count").textContent = `Changes: ${all.length}`;
}

const tag = (kind: string): HTMLElement => element("span", { class: `kind ${kind}` }, kind);

function eventRow(event: LiveEvent): HTMLElement {
  const said = event.by ? `${event.detail}, by ${event.by}` : event.detail;
  const time = element("time", { datetime: event.at }, clock(event.at));
  return element("li", {}, time, " ", tag(event.outcome ?? event.kind), " ", element("span", { class: "said" }, said));
}

function showCounts(id: string, counts: Record<string, number> | null): void {
  const rows = Object.entries(counts ?? {}).sort(([, one], [, other]) => other - one);
  byId(`${id}-part`).hidden = !rows.length;
  byId(id).replaceChildren(
    ...rows.map(([name, count]) => element("div", {}, element("dt", {}, name), element("dd", {}, integer(count)))),
  );
}
