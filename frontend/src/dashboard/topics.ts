/** Preferences over topics, or other features: what a policy has learned of each. */

import { byId, element } from "./dom";
import { decimal, plural } from "./format";
import type { RankingView } from "./messages";
import { interval } from "./pictures";

export function showTopics(state: RankingView): void {
  const { weights } = state;
  const values = weights.flatMap(({ low, high }) => [low, high]);
  const scale: [number, number] = [Math.min(0, ...values), Math.max(0.01, ...values)];
  byId("weights").replaceChildren(
    ...weights.map(({ feature, weight, low, high, items }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, `topic ${feature}`),
        element("td", {}, decimal(weight)),
        element("td", { class: "bounds" }, interval(scale, weight, [low, high], null, 0), small(`${decimal(low)} to ${decimal(high)}`)),
        element("td", { class: "named" }, items.join(", ") || "no item has it"),
      ),
    ),
  );
  byId("weights-box").hidden = !weights.length;
  byId("topics-note").textContent = weights.length
    ? `The weight of each feature of the items after ${plural(state.learned, "list")}, the largest first, with the items that have most of it.`
    : state.learned
      ? "This policy learns about each item separately. Policies over features, such as cascade-lin-ucb and " +
        "dcm-lin-ucb, have preferences over topics."
      : "No list was made yet, or only for segments: choose one above.";
}

const small = (text: string): HTMLElement => element("span", { class: "small" }, text);
