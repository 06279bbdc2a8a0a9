/** Saves what was drawn: curves as CSV, pictures as PNG. */

import { element } from "../dashboard/dom";
import type { CurvePoint } from "./messages";

/** The curves as text: a line per policy and point, with the means and standard errors of both curves. */
export function csvOf(points: CurvePoint[], policies: string[]): string {
  const lines = ["policy,step,regret,regret_error,clicks,clicks_error"];
  for (const policy of policies) {
    for (const point of points) {
      const [mean, error] = [point.means[policy]!, point.errors[policy]!];
      lines.push([quoted(policy), point.step, mean[0], error[0], mean[1], error[1]].join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A text in quotes; one that a table would take for a formula does not begin a policy's name. */
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** Hand a file to the browser. */
export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
