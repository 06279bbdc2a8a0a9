/** The playground: chooses users and policies, runs the simulator on the server, and draws the curves as they come. */

import { json, Refusal, useKey } from "../dashboard/api";
import { byId, element } from "../dashboard/dom";
import { integer } from "../dashboard/format";
import { Curves, valueAt, valueText, type Metric } from "./curves";
import { fragmentOf, setupOf } from "./link";
import type { Choices, CurvePoint, Told } from "./messages";
import { csvOf, save } from "./save";
import { FITTED, SetupForm } from "./setup";
import { simulate } from "./stream";

const curves = new Curves(byId("chart"), byId("readout"));
const form = new SetupForm((text) => say(text));
const metric = byId<HTMLSelectElement>("metric");
let points: CurvePoint[] = [];
let policies: string[] = [];
let steps = 1;
let running: AbortController | undefined;

function say(text: string, state: "" | "well" | "ill" = ""): void {
  const status = byId("status");
  status.textContent = text;
  status.className = state;
  byId("now").textContent = text; // beside the buttons, which may be far from the top of the page
}

async function open(): Promise<void> {
  try {
    const choices = await json<Choices>("GET", "v1/playground");
    byId("ask").hidden = true;
    form.fill(choices, setupOf(location.hash.slice(1)));
    say("ready");
  } catch (problem) {
    const needsKey = problem instanceof Refusal && (problem.status === 401 || problem.status === 403);
    byId("ask").hidden = !needsKey;
    if (needsKey) {
      byId("why").textContent = "Simulations take time of the server, so they need an API key with the scope admin.";
      say("needs a key");
    } else say((problem as Error).message, "ill");
  }
}

async function run(): Promise<void> {
  let body: unknown;
  try {
    body = form.request();
  } catch (problem) {
    return say((problem as Error).message, "ill");
  }
  const setup = form.setup();
  history.replaceState(null, "", `#${fragmentOf(setup)}`);
  running?.abort();
  const stop = (running = new AbortController());
  setRunning(true);
  points = [];
  steps = setup.steps;
  byId<HTMLProgressElement>("progress").value = 0;
  say("asking");
  try {
    const isOver = await simulate(body, stop.signal, (told) => running === stop && hear(told));
    if (running === stop && !isOver) say("the connection is lost", "ill");
  } catch (problem) {
    if (running === stop) say(stop.signal.aborted ? "cancelled" : (problem as Error).message, stop.signal.aborted ? "" : "ill");
  }
  if (running === stop) {
    running = undefined;
    setRunning(false);
  }
}

function setRunning(is: boolean): void {
  byId<HTMLButtonElement>("cancel").disabled = !is;
  byId<HTMLButtonElement>("run").disabled = is;
}

function hear(told: Told): void {
  switch (told.event) {
    case "waiting":
      return say(`waiting for ${told.ahead} other ${told.ahead === 1 ? "simulation" : "simulations"}`);
    case "started":
      policies = told.policies;
      byId("python").textContent = told.python;
      byId("outcome").hidden = false;
      curves.begin(policies, steps);
      showRows();
      return say("started");
    case "policy":
      return say(`compiling or loading ${told.policy}`);
    case "point":
      points.push(told);
      byId<HTMLProgressElement>("progress").value = told.step / steps;
      curves.show(points);
      showRows();
      return say(`playing: ${integer(told.step)} of ${integer(steps)} lists`);
    case "done":
      return say("done", "well");
    default:
      return say(told.detail, "ill");
  }
}

function showRows(): void {
  const last = points.at(-1);
  byId("rows").replaceChildren(
    ...policies.map((policy, at) => {
      const cell = (which: Metric) => element("td", {}, last ? valueText(valueAt(last, policy, which), which) : "–");
      const name = element("th", { scope: "row" }, element("span", { class: `swatch k${at}`, "aria-hidden": "true" }), policy);
      return element("tr", {}, name, cell("regret"), cell("clicks"));
    }),
  );
}

async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    byId("said").textContent = said;
  } catch {
    byId("said").textContent = "The browser does not allow copying here.";
  }
}

byId("setup").addEventListener("submit", (event) => {
  event.preventDefault();
  void run();
});
byId("cancel").addEventListener("click", () => running?.abort());
metric.addEventListener("change", () => curves.choose(metric.value as Metric));
byId("csv").addEventListener("click", () => save(new Blob([csvOf(points, policies)], { type: "text/csv" }), "playground.csv"));
byId("png").addEventListener("click", () => {
  curves.picture()?.toBlob((picture) => picture && save(picture, "playground.png"));
});
byId("link").addEventListener("click", () => {
  const setup = form.setup();
  const more = setup.users === FITTED ? " The file of the model is not in it." : "";
  void copy(`${location.origin}${location.pathname}#${fragmentOf(setup)}`, `Copied.${more}`);
});
byId("copy").addEventListener("click", () => void copy(byId("python").textContent ?? "", "Copied."));
byId<HTMLFormElement>("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = byId<HTMLInputElement>("key");
  useKey(input.value.trim());
  input.value = "";
  void open();
});
addEventListener("hashchange", () => void open());
addEventListener("pagehide", () => running?.abort());
void open();
