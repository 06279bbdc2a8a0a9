/** The page: chooses the view that the address names, and follows what it shows. */

import { json, rankingPath, type Refusal, useKey } from "./api";
import { connectChanges, showSettings } from "./changes";
import { Chart, holdoutOf } from "./chart";
import { byId, element } from "./dom";
import { showChanges, showEvents } from "./events";
import { integer, percent, signed } from "./format";
import { follow } from "./live";
import type { Overview, RankingView } from "./messages";
import { OrderView } from "./order";
import { OverviewView } from "./overview";
import { address, parseRoute, type Route, TABS } from "./route";
import { showTopics } from "./topics";
import { UpliftView } from "./uplift";

const chart = new Chart(byId("chart"), byId("readout"));
const order = new OrderView(() => start());
const overview = new OverviewView(() => start());
const uplift = new UpliftView();
const segmentField = byId<HTMLInputElement>("segment");
let route: Route = parseRoute(location.hash);
let shown: RankingView | undefined;
let unfollow = () => {};
let segmentsOf = ""; // the ranking whose segments can be chosen

function say(text: string, isWell: boolean): void {
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
  status.className = isWell ? "well" : "ill";
}

function askForKey(refusal: Refusal): void {
  byId("ask").hidden = false;
  byId("why").textContent = refusal.status === 401 ? "This service needs an API key." : refusal.message;
  say("an API key is needed", false);
}

/** Show the view that the address names. */
function go(): void {
  const before = route;
  route = parseRoute(location.hash);
  const isOther = before.name !== route.name || before.segment !== route.segment;
  for (const view of ["overview", "new", "ranking"]) byId(`view-${view}`).hidden = view !== route.view;
  byId("nav-overview").toggleAttribute("aria-current", route.view === "overview");
  byId("nav-new").toggleAttribute("aria-current", route.view === "new");
  document.title = route.view === "ranking" ? `${route.name}, toplist` : "toplist";
  if (isOther || !shown) {
    order.reset();
    shown = undefined;
    byId("found").hidden = true;
    byId("missing").hidden = true;
  }
  if (route.view === "ranking") {
    byId("name").textContent = route.name;
    segmentField.value = route.segment;
    for (const tab of TABS) {
      byId(`tab-${tab}`).hidden = tab !== route.tab;
      const link = byId<HTMLAnchorElement>(`to-${tab}`);
      link.href = address(route.name, tab, route.segment);
      if (tab === route.tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (segmentsOf !== route.name) void readSegments(route.name);
    if (shown) show(shown);
  }
  if (route.view === "ranking" && route.tab === "uplift") uplift.start(route.name);
  else uplift.stop();
  start();
}

/** Follow what the view shows. */
function start(): void {
  unfollow();
  unfollow = () => {};
  if (document.visibilityState === "hidden") return; // a page that nobody looks at costs nothing
  const trouble = {
    onLost: () => say("the connection is lost; trying again", false),
    onRefused: (refusal: Refusal) => {
      if (refusal.status === 401 || refusal.status === 403) askForKey(refusal);
      else isMissing(refusal.message);
    },
  };
  if (route.view === "ranking") {
    const given = { updates: "10000", ...order.query, ...(route.segment ? { segment: route.segment } : {}) };
    const path = `${rankingPath(route.name)}/live?${new URLSearchParams(given)}`;
    unfollow = follow<RankingView>(path, { onState: (state) => isLive() && show(state), ...trouble });
  } else {
    const onState = (state: Overview) => isLive() && overview.show(state);
    unfollow = follow<Overview>(overview.path, { onState, ...trouble });
  }
}

function isLive(): boolean {
  byId("ask").hidden = true;
  say("live", true);
  return true;
}

function isMissing(why: string): void {
  byId("found").hidden = true;
  byId("missing").hidden = false;
  byId("missing").textContent = why;
  say("not found", false);
}

/** Names of segments, to choose from. */
async function readSegments(name: string): Promise<void> {
  segmentsOf = name;
  try {
    const { segments } = await json<{ segments: string[] }>("GET", `${rankingPath(name)}/segments?limit=200`);
    byId("segments").replaceChildren(...segments.map((segment) => element("option", { value: segment })));
    byId("segment-part").hidden = !segments.length && !route.segment;
  } catch {
    segmentsOf = ""; // the live view says why
  }
}

function show(state: RankingView): void {
  shown = state;
  byId("found").hidden = false;
  byId("missing").hidden = true;
  if (route.tab === "order") {
    showNumbers(state);
    chart.show(state);
    showChanges(state);
    order.show(state);
  }
  if (route.tab === "topics") showTopics(state);
  if (route.tab === "events") showEvents(state);
  if (route.tab === "change") showSettings(state.ranking, route.item);
}

function showNumbers(state: RankingView): void {
  const { history, ranking } = state;
  const recent = history.points.slice(-Math.max(1, Math.ceil(history.points.length / 10)));
  const lists = recent.reduce((sum, point) => sum + point.lists, 0);
  const clicked = recent.reduce((sum, point) => sum + point.clicked, 0);
  const holdout = holdoutOf(state);
  const numbers: [string, string][] = [
    ["of all lists", history.lists ? percent(history.clicked / history.lists) : "–"],
    ...(holdout === null ? [] : upliftNumbers(state)),
    [lists ? `of the last ${integer(lists)}` : "of the last", lists ? percent(clicked / lists) : "–"],
    ...(ranking.reference === null ? [] : [["reference", percent(ranking.reference)] as [string, string]]),
    ["lists learned", integer(history.lists)],
    ["clicks", integer(history.clicks)],
  ];
  byId("numbers").replaceChildren(
    ...numbers.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
  const band =
    `Share of lists with at least one click${holdout === null ? "" : ", of both groups together"}, with a 95% band` +
    `${ranking.reference === null ? "" : "; dashed: the reference"}${holdout === null ? "" : "; dotted: the holdout so far"}`;
  byId("about").textContent = history.lists
    ? `${band}${history.complete ? "" : "; the log is still being read"}.`
    : "No list is learned yet. A list is learned when its report is final or its click window closes.";
}

/** The click-through of both groups, and how much more that of the policy is. */
function upliftNumbers({ uplift }: RankingView): [string, string][] {
  const share = (value: number | null | undefined) => (value === null || value === undefined ? "–" : percent(value));
  const bounds = uplift?.ratio?.sequence;
  const interval = bounds ? `uplift, ${signed(bounds.low - 1, 0)} to ${signed(bounds.high - 1, 0)}` : "uplift, too few visitors";
  return [
    ["policy", share(uplift?.policy)],
    ["holdout", share(uplift?.holdout)],
    [interval, uplift?.ratio ? signed(uplift.ratio.estimate - 1, 0) : "–"],
  ];
}

segmentField.addEventListener("change", () => {
  location.hash = address(route.name, route.tab, segmentField.value.trim());
});
byId("show-key").addEventListener("click", () => {
  const form = byId("ask");
  form.hidden = !form.hidden;
  byId("why").textContent = "Use another API key, such as one of the scope admin.";
  if (!form.hidden) byId("key").focus();
});
byId<HTMLFormElement>("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = byId<HTMLInputElement>("key");
  useKey(input.value.trim());
  input.value = "";
  byId("ask").hidden = true;
  go();
});
connectChanges(
  () => shown?.ranking,
  (hash) => {
    location.hash = hash;
  },
);
addEventListener("hashchange", go);
document.addEventListener("visibilitychange", go);
go();
