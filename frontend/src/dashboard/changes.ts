/** What a key of the scope admin can change: rankings, their items, pins and settings; and the log to download. */

import { ask, json, rankingPath } from "./api";
import { byId, element } from "./dom";
import { percent, plural } from "./format";
import type { ItemId, Ranking } from "./messages";
import { address } from "./route";

/** Connect the forms; `selected` is the current ranking, and `changed` is called with the one to show next. */
export function connectChanges(selected: () => Ranking | undefined, changed: (hash: string) => void): void {
  const current = () => {
    const ranking = selected();
    if (!ranking) throw new Error("No ranking is shown.");
    return ranking;
  };
  onSubmit("create", async (form) => {
    const name = text(form, "name");
    const spec: Record<string, unknown> = { name, positions: Number(text(form, "positions")) };
    if (text(form, "policy")) spec["policy"] = text(form, "policy");
    if (text(form, "holdout")) spec["holdout"] = Number(text(form, "holdout")) / 100;
    await json("POST", "v1/rankings", spec);
    await putItems(name, lines(form, "items"));
    byId<HTMLFormElement>("form-create").reset();
    changed(address(name));
    return `Created ${name}.`;
  });
  onSubmit("settings", async (form) => {
    const now = await json<Ranking>("PATCH", rankingPath(current().name), settingsOf(form));
    byId<HTMLFormElement>("form-settings").reset();
    return `Now ${now.policy}, ${now.mode}, ${now.positions} positions, a click window of ${now.click_window} seconds, a holdout of ${percent(now.holdout)}.`;
  });
  onSubmit("add", async (form) => {
    const items = lines(form, "items");
    await putItems(current().name, items);
    byId<HTMLFormElement>("form-add").reset();
    return `Put ${plural(items.length, "item")}.`;
  });
  onSubmit("item", async (form, pressed) => {
    const id = itemId(form);
    if (pressed === "pin") return pin(current(), id, Number(text(form, "position")));
    if (pressed === "unpin") return pin(current(), id, 0);
    const path = `${rankingPath(current().name)}/items/${encodeURIComponent(typeof id === "number" ? `\t${id}` : id)}`;
    if (pressed === "remove") await json("DELETE", path);
    else await json("PUT", path, { hidden: pressed === "hide" });
    return { remove: "Removed.", hide: "Hidden: no new list has it.", show: "Shown again." }[pressed] ?? "";
  });
  onSubmit("download", async () => {
    const { name } = current();
    const reply = await ask("GET", `${rankingPath(name)}/events`);
    const place = URL.createObjectURL(await reply.blob());
    element("a", { href: place, download: `${name}.ndjson` }).click();
    setTimeout(() => URL.revokeObjectURL(place), 60_000);
    return "Downloaded.";
  });
}

/** A share in %, with two digits at most. */
const hundredths = (share: number): string => String(Number((100 * share).toFixed(2)));

/** Show the present settings beside the fields that change them, and the item that was chosen. */
export function showSettings(ranking: Ranking, item: string): void {
  const form = byId<HTMLFormElement>("form-settings");
  const now: Record<string, string> = {
    policy: ranking.policy,
    positions: String(ranking.positions),
    click_window: String(ranking.click_window),
    holdout: hundredths(ranking.holdout),
    reference: ranking.reference === null ? "none" : hundredths(ranking.reference),
    worse_by: ranking.stop_if === null ? "no guardrail" : hundredths(ranking.stop_if.worse_by),
  };
  for (const [name, value] of Object.entries(now)) {
    const field = form.elements.namedItem(name) as HTMLInputElement;
    if (field.placeholder !== `now ${value}`) field.placeholder = `now ${value}`;
  }
  const modes = form.elements.namedItem("mode") as HTMLSelectElement;
  modes.options[0]!.textContent = `now ${ranking.mode}${ranking.stopped ? ", stopped" : ""}`;
  const pins = Object.entries(ranking.pins).sort(([one], [other]) => Number(one) - Number(other));
  byId("pins").textContent = pins.length
    ? `Pinned: ${pins.map(([position, id]) => `${position}: ${id}`).join(", ")}.`
    : "Nothing is pinned.";
  const chosen = byId<HTMLFormElement>("form-item").elements.namedItem("id") as HTMLInputElement;
  if (item && chosen.dataset["from"] !== item) {
    chosen.dataset["from"] = item;
    chosen.value = item.replace("\t", "");
    const number = byId<HTMLFormElement>("form-item").elements.namedItem("number") as HTMLInputElement;
    number.checked = item.startsWith("\t");
    byId<HTMLDetailsElement>("item-details").open = true;
  }
}

async function pin(ranking: Ranking, id: ItemId, position: number): Promise<string> {
  const pins = Object.fromEntries(Object.entries(ranking.pins).filter(([, item]) => item !== id));
  if (position) pins[position] = id;
  await json("PATCH", rankingPath(ranking.name), { pins });
  return position ? `Pinned at ${position}, in every list that can have it there.` : "Not pinned any more.";
}

function settingsOf(form: FormData): Record<string, unknown> {
  const change: Record<string, unknown> = {};
  for (const name of ["policy", "mode"]) if (text(form, name)) change[name] = text(form, name);
  for (const name of ["positions", "click_window"]) if (text(form, name)) change[name] = Number(text(form, name));
  for (const name of ["holdout", "reference"]) if (text(form, name)) change[name] = Number(text(form, name)) / 100;
  if (text(form, "worse_by"))
    change["stop_if"] = { metric: text(form, "metric"), worse_by: Number(text(form, "worse_by")) / 100 };
  if (form.has("no_guardrail")) change["stop_if"] = null;
  if (form.has("from_scratch")) change["train"] = false;
  if (!Object.keys(change).length) throw new Error("Fill in what shall change.");
  return change;
}

async function putItems(name: string, ids: string[]): Promise<void> {
  const most = 10_000; // of one request
  for (let at = 0; at < ids.length; at += most)
    await json("PUT", `${rankingPath(name)}/items`, { items: ids.slice(at, at + most).map((id) => ({ id })) });
}

const text = (form: FormData, name: string): string => String(form.get(name) ?? "").trim();
const lines = (form: FormData, name: string): string[] =>
  text(form, name).split("\n").map((line) => line.trim()).filter(Boolean);
const itemId = (form: FormData): ItemId => (form.has("number") ? Number(text(form, "id")) : text(form, "id"));

/** Run work when a form is sent, and say in the form what came of it. */
function onSubmit(id: string, work: (form: FormData, pressed: string) => Promise<string>): void {
  const form = byId<HTMLFormElement>(`form-${id}`);
  const said = form.querySelector("output")!;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter as HTMLButtonElement | null;
    said.textContent = "Working …";
    work(new FormData(form), button?.value ?? "").then(
      (text) => (said.textContent = text),
      (problem: Error) => (said.textContent = problem.message),
    );
  });
}
