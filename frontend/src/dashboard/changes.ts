/** What a key of the scope admin can change: rankings, their items and settings; and the log to download. */

import { ask, json, rankingPath } from "./api";
import { byId, element } from "./dom";
import type { Ranking } from "./messages";

/** Connect the forms; `selected` is the current ranking, and `changed` is called with the one to show next. */
export function connectChanges(selected: () => Ranking | undefined, changed: (name: string) => void): void {
  const current = () => {
    const ranking = selected();
    if (!ranking) throw new Error("No ranking is shown.");
    return ranking.name;
  };
  onSubmit("create", async (form) => {
    const name = text(form, "name");
    await json("POST", "v1/rankings", { name, positions: Number(text(form, "positions")) });
    await putItems(name, lines(form, "items"));
    changed(name);
    return `Created ${name}.`;
  });
  onSubmit("settings", async (form) => {
    const change: Record<string, unknown> = {};
    if (text(form, "policy")) change["policy"] = text(form, "policy");
    if (text(form, "positions")) change["positions"] = Number(text(form, "positions"));
    if (text(form, "click_window")) change["click_window"] = Number(text(form, "click_window"));
    if (!Object.keys(change).length) throw new Error("Fill in what shall change.");
    const now = await json<Ranking>("PATCH", rankingPath(current()), change);
    changed(now.name);
    return `Now ${now.policy}, ${now.positions} positions, a click window of ${now.click_window} seconds.`;
  });
  onSubmit("add", async (form) => {
    const items = lines(form, "items");
    await putItems(current(), items);
    return `Put ${items.length} items.`;
  });
  onSubmit("item", async (form, pressed) => {
    const path = `${rankingPath(current())}/items/${encodeURIComponent(text(form, "id"))}`;
    if (pressed === "remove") await json("DELETE", path);
    else await json("PUT", path, { hidden: pressed === "hide" });
    return { remove: "Removed.", hide: "Hidden: no new list has it.", show: "Shown again." }[pressed] ?? "";
  });
  onSubmit("download", async () => {
    const name = current();
    const reply = await ask("GET", `${rankingPath(name)}/events`);
    const address = URL.createObjectURL(await reply.blob());
    element("a", { href: address, download: `${name}.ndjson` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    return "Downloaded.";
  });
}

async function putItems(name: string, ids: string[]): Promise<void> {
  if (ids.length) await json("PUT", `${rankingPath(name)}/items`, { items: ids.map((id) => ({ id })) });
}

const text = (form: FormData, name: string): string => String(form.get(name) ?? "").trim();
const lines = (form: FormData, name: string): string[] =>
  text(form, name).split("\n").map((line) => line.trim()).filter(Boolean);

/** Run work when a form is sent, and say in the form what came of it. */
function onSubmit(id: string, work: (form: FormData, pressed: string) => Promise<string>): void {
  const form = byId<HTMLFormElement>(`form-${id}`);
  const said = form.querySelector("output")!;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter as HTMLButtonElement | null;
    said.textContent = "Working …";
    work(new FormData(form), button?.value ?? "").then(
      (done) => {
        said.textContent = done;
        form.reset();
      },
      (problem: Error) => (said.textContent = problem.message),
    );
  });
}
