/** The form: users, policies and sizes, filled from a link and read into a set-up. */

import { byId, element } from "../dashboard/dom";
import { integer } from "../dashboard/format";
import type { Choices, Setup } from "./messages";

export const FITTED = "fitted"; // the choice of users that an uploaded model has
const FIRST = ["cascade-kl-ucb", "dcm-ts", "random"];
const MOST_QUERIES = 1000; // that are offered
const LARGEST_FILE = 4 * 2 ** 20; // bytes, as the service takes them

interface Uploaded {
  model: unknown;
  queries: (string | number)[];
}

export class SetupForm {
  private readonly form = byId<HTMLFormElement>("setup");
  private choices: Choices | undefined;
  private uploaded: Uploaded | undefined;

  constructor(private readonly say: (text: string) => void) {
    byId("add").addEventListener("click", () => this.addPolicy("").focus());
    this.field<HTMLSelectElement>("users").addEventListener("change", () => this.showUsers({}));
    this.field<HTMLSelectElement>("change").addEventListener("change", () => this.showChange());
    this.field<HTMLInputElement>("file").addEventListener("change", () => void this.upload());
  }

  /** Fill the form with what can be chosen, and with what a link says. */
  fill(choices: Choices, linked: Partial<Setup>): void {
    this.choices = choices;
    this.form.hidden = false;
    const options = choices.users.map((each) => element("option", { value: each.name }, each.title));
    const users = this.field<HTMLSelectElement>("users");
    users.replaceChildren(...options, element("option", { value: FITTED }, "a fitted model, from a file"));
    byId("known").replaceChildren(...choices.policies.map((each) => element("option", { value: each.name }, each.title)));
    users.value = choices.users.some((each) => each.name === linked.users) ? linked.users! : "dcm";
    for (const name of ["items", "positions", "best", "worst", "every", "speed", "steps", "runs", "seed"] as const) {
      if (linked[name] !== undefined) this.field<HTMLInputElement>(name).value = String(linked[name]);
    }
    const change = this.field<HTMLSelectElement>("change");
    if ([...change.options].some((each) => each.value === linked.change)) change.value = linked.change!;
    byId("policies").replaceChildren();
    for (const policy of (linked.policies ?? FIRST).slice(0, choices.limits.policies)) this.addPolicy(policy);
    const { limits } = choices;
    for (const name of ["items", "positions", "steps", "runs"] as const) {
      this.field<HTMLInputElement>(name).max = String(limits[name]);
    }
    byId("limits").textContent =
      `It runs on the server, in a process of its own, for at most ${integer(limits.seconds)} seconds; ` +
      `${limits.at_once} at once, ${limits.waiting} waiting. The first run of a policy is compiled, which takes a while.`;
    this.showUsers(linked.parameters ?? {});
    this.showChange();
  }

  /** The set-up in the form. */
  setup(): Setup {
    const number = (name: string) => Number(this.field<HTMLInputElement>(name).value);
    const parameters: Record<string, number> = {};
    for (const input of byId("parameters").querySelectorAll("input")) {
      if (input.value !== "") parameters[input.name] = Number(input.value);
    }
    return {
      policies: this.policyInputs().map((input) => input.value.trim()).filter(Boolean),
      users: this.field<HTMLSelectElement>("users").value,
      parameters,
      items: number("items"),
      positions: number("positions"),
      best: number("best"),
      worst: number("worst"),
      change: this.field<HTMLSelectElement>("change").value,
      every: number("every"),
      speed: number("speed"),
      steps: number("steps"),
      runs: number("runs"),
      seed: number("seed"),
    };
  }

  /** The body of the request for this set-up, with the model of a file. */
  request(): unknown {
    const { users, parameters, change, ...rest } = this.setup();
    if (users !== FITTED) return { users, parameters, change, ...rest };
    if (!this.uploaded) throw new Error("Choose the file of a model first.");
    const text = this.field<HTMLInputElement>("query").value;
    const query = this.uploaded.queries.find((each) => String(each) === text);
    if (query === undefined) throw new Error(`The model has no query "${text}"; choose one of its ${this.uploaded.queries.length}.`);
    const { policies, positions, steps, runs, seed } = rest;
    return { policies, positions, steps, runs, seed, model: this.uploaded.model, query };
  }

  private field<T extends HTMLElement>(name: string): T {
    return this.form.elements.namedItem(name) as unknown as T;
  }

  private policyInputs(): HTMLInputElement[] {
    return [...byId("policies").querySelectorAll("input")];
  }

  private addPolicy(text: string): HTMLInputElement {
    const input = element("input", { list: "known", autocomplete: "off", maxlength: "200" });
    input.value = text;
    const remove = element("button", { type: "button" }, "Remove");
    const row = element("div", { class: "policy" }, element("span", { "aria-hidden": "true" }), input, remove);
    remove.addEventListener("click", () => {
      row.remove();
      this.number();
      byId("add").focus();
    });
    byId("policies").append(row);
    this.number();
    return input;
  }

  private number(): void {
    const rows = [...byId("policies").children];
    rows.forEach((row, at) => {
      row.querySelector("span")!.className = `swatch k${at}`;
      row.querySelector("input")!.setAttribute("aria-label", `Policy ${at + 1}`);
      const remove = row.querySelector("button")!;
      remove.setAttribute("aria-label", `Remove policy ${at + 1}`);
      remove.disabled = rows.length === 1;
    });
    byId<HTMLButtonElement>("add").disabled = rows.length >= (this.choices?.limits.policies ?? 1);
  }

  private showUsers(given: Record<string, number>): void {
    const name = this.field<HTMLSelectElement>("users").value;
    const chosen = this.choices!.users.find((each) => each.name === name);
    byId("invented").hidden = !chosen;
    byId("fitted").hidden = !!chosen;
    byId("users-note").textContent = chosen?.summary.replaceAll("`", "") ?? "Its users and the attraction of a query's items are simulated.";
    byId("parameters").replaceChildren(
      ...(chosen?.parameters ?? []).map((each) => {
        const input = element("input", { name: each.name, type: "number", step: "any" });
        if (each.default === "None") input.placeholder = "none";
        else input.value = each.default;
        if (given[each.name] !== undefined) input.value = String(given[each.name]);
        return element("label", {}, `${each.name.replaceAll("_", " ")} `, input);
      }),
    );
  }

  private showChange(): void {
    const change = this.field<HTMLSelectElement>("change").value;
    byId("every").hidden = change !== "once" && change !== "jumps";
    byId("speed").hidden = change !== "drift";
  }

  private async upload(): Promise<void> {
    const file = this.field<HTMLInputElement>("file").files?.[0];
    this.uploaded = undefined;
    if (!file) return;
    try {
      if (file.size > LARGEST_FILE) throw new Error("it has more than 4 MiB");
      const model = JSON.parse(await file.text());
      if (!Array.isArray(model?.queries)) throw new Error("it has no queries");
      const queries: (string | number)[] = model.queries;
      this.uploaded = { model, queries };
      byId("queries").replaceChildren(
        ...queries.slice(0, MOST_QUERIES).map((each) => element("option", { value: String(each) })),
      );
      this.field<HTMLInputElement>("query").value = String(queries[0] ?? "");
      this.say(`The model has ${queries.length} ${queries.length === 1 ? "query" : "queries"}.`);
    } catch (problem) {
      this.say(`This file is no model that toplist fit saved: ${(problem as Error).message}.`);
    }
  }
}
