/** The set-up as the fragment of an address: settings alone, which the service checks like any others. */

import type { Setup } from "./messages";

const NUMBERS = ["items", "positions", "best", "worst", "every", "speed", "steps", "runs", "seed"] as const;
const PARAMETER = "p.";
const LONGEST = 4000; // characters of a fragment that is read

/** The fragment of a set-up, without the #. */
export function fragmentOf(setup: Setup): string {
  const found = new URLSearchParams();
  found.set("users", setup.users);
  for (const [name, value] of Object.entries(setup.parameters)) found.set(PARAMETER + name, String(value));
  found.set("change", setup.change);
  for (const name of NUMBERS) found.set(name, String(setup[name]));
  for (const policy of setup.policies) found.append("policy", policy);
  return found.toString();
}

/** What a fragment says; whatever is not a setting is left out. */
export function setupOf(fragment: string): Partial<Setup> {
  const found = new URLSearchParams(fragment.slice(0, LONGEST));
  const setup: Partial<Setup> = {};
  const users = found.get("users");
  if (users) setup.users = users;
  const change = found.get("change");
  if (change) setup.change = change;
  for (const name of NUMBERS) {
    const text = found.get(name);
    if (text && Number.isFinite(Number(text))) setup[name] = Number(text);
  }
  const policies = found.getAll("policy").filter(Boolean);
  if (policies.length) setup.policies = policies;
  const parameters: Record<string, number> = {};
  for (const [name, text] of found) {
    if (name.startsWith(PARAMETER) && text && Number.isFinite(Number(text))) {
      parameters[name.slice(PARAMETER.length)] = Number(text);
    }
  }
  setup.parameters = parameters;
  return setup;
}
