/** The dashboard: a ranking, its click-through rate, its current order and its last events, live. */

import { json, type Refusal, useKey } from "./api";
import { connectChanges } from "./changes";
import { Chart } from "./chart";
import { byId, element } from "./dom";
import { clock, integer, percent } from "./format";
import { follow } from "./live";
import type { LiveEvent, RankingView, Ranking } from "./messages";
import { orderNote, orderRows } from "./order";

const FIRST_ITEMS = 20;
const MOST_ITEMS = 200;
const LOOK_EVERY = 15_000; // milliseconds; for new rankings

const chart = new Chart(byId("chart"), byId("readout"));
const choice = byId<HTMLSelectElement>("ranking");
let rankings: Ranking[] = [];
let shown: RankingView | undefined;
let items = FIRST_ITEMS;
let unfollow = () => {};
let followed = "";

function say(text: string, isWell: boolean): void {
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
  status.className = isWell ? "well" : "ill";
}

const wanted = (): string => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // not percent-encoded
  }
};

function askForKey(refusal: Refusal): void {
  byId("ask").hidden = false;
  byId("why").textContent = refusal.status === 401 ? "This service needs an API key." : refusal.message;
  say("an API key is needed", false);
}

/** Read which rankings there are, and follow the chosen one. */
async function look(): Promise<void> {
  try {
    rankings = (await json<{ rankings: Ranking[] }>("GET", "v1/rankings")).rankings;
  } catch (problem) {
    const refusal = problem as Refusal;
    if (refusal.status === 401 || refusal.status === 403) askForKey(refusal);
    else say("the service does not answer; trying again", false);
    return;
  }
  byId("ask").hidden = true;
  const names = rankings.map((each) => each.name);
  if (names.join("\n") !== Array.from(choice.options, (each) => each.value).join("\n"))
    choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  choice.disabled = !names.length;
  if (!names.length) {
    byId("main").hidden = true;
    unfollow();
    followed = "";
    return say("no rankings yet: create one below", true);
  }
  const name = names.includes(wanted()) ? wanted() : names[0]!;
  choice.value = name;
  if (name !== followed) start(name);
}

function start(name: string): void {
  unfollow();
  followed = name;
  unfollow = follow(name, () => items, {
    onState: show,
    onLost: () => say("the connection is lost; trying again", false),
    onRefused: (refusal) => {
      followed = "";
      if (refusal.status === 404) void look();
      else askForKey(refusal);
    },
  });
}

function show(state: RankingView): void {
  shown = state;
  say("live", true);
  byId("main").hidden = false;
  const { history, ranking } = state;
  const recent = history.points.slice(-Math.max(1, Math.ceil(history.points.length / 10)));
  const lists = recent.reduce((sum, point) => sum + point.lists, 0);
  const clicked = recent.reduce((sum, point) => sum + point.clicked, 0);
  const numbers: [string, string][] = [
    ["of all lists", history.lists ? percent(history.clicked / history.lists) : "–"],
    [lists ? `of the last ${integer(lists)}` : "of the last", lists ? percent(clicked / lists) : "–"],
    ...(ranking.reference === null ? [] : [["reference", percent(ranking.reference)] as [string, string]]),
    ["lists learned", integer(history.lists)],
    ["clicks", integer(history.clicks)],
  ];
  byId("numbers").replaceChildren(
    ...numbers.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
  const band = `Share of lists with at least one click, with a 95% band${ranking.reference === null ? "" : "; dashed: the reference"}`;
  byId("about").textContent = history.lists
    ? `${band}${history.complete ? "" : "; the log is still being read"}.`
    : "No list is learned yet. A list is learned when its report is final or its click window closes.";
  chart.show(state);
  byId("items").replaceChildren(...orderRows(state));
  byId("order").textContent = orderNote(state);
  byId("more").hidden = state.items.length >= Math.min(ranking.items, MOST_ITEMS);
  byId("events").replaceChildren(...state.events.map(eventRow));
  byId("none").hidden = state.events.length > 0;
  showCounts("reports", state.reports);
  showCounts("requests", state.requests);
}

function eventRow(event: LiveEvent): HTMLElement {
  const said = event.by ? `${event.detail}, by ${event.by}` : event.detail;
  const what = element("span", { class: `kind ${event.outcome ?? ""}` }, event.outcome ?? event.kind);
  const time = element("time", { datetime: event.at }, clock(event.at));
  return element("li", {}, time, " ", what, " ", element("span", { class: "said" }, said));
}

function showCounts(id: string, counts: Record<string, number> | null): void {
  const rows = Object.entries(counts ?? {}).sort(([, one], [, other]) => other - one);
  byId(`${id}-part`).hidden = !rows.length;
  byId(id).replaceChildren(
    ...rows.map(([name, count]) => element("div", {}, element("dt", {}, name), element("dd", {}, integer(count)))),
  );
}

choice.addEventListener("change", () => {
  items = FIRST_ITEMS;
  location.hash = encodeURIComponent(choice.value);
});
addEventListener("hashchange", () => void look());
byId("more").addEventListener("click", () => {
  items = Math.min(MOST_ITEMS, items + 5 * FIRST_ITEMS);
  start(followed);
});
byId<HTMLFormElement>("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = byId<HTMLInputElement>("key");
  useKey(input.value.trim());
  input.value = "";
  followed = "";
  void look();
});
connectChanges(
  () => shown?.ranking,
  (name) => {
    location.hash = encodeURIComponent(name);
    void look();
  },
);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") void look();
  else {
    unfollow(); // a page that nobody looks at costs nothing
    followed = "";
  }
});
setInterval(() => document.visibilityState === "visible" && void look(), LOOK_EVERY);
void look();
