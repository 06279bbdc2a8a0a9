/** Runs a simulation: its events come on the connection that asked for it, and closing that ends it. */

import { ask } from "../dashboard/api";
import type { Told } from "./messages";

const LAST = ["done", "refused", "failed"];

/** Ask for a simulation, and hand over its events; false if the connection ended before the last. */
export async function simulate(body: unknown, stopped: AbortSignal, onTold: (told: Told) => void): Promise<boolean> {
  const reply = await ask("POST", "v1/playground/simulations", body, stopped);
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return false;
    const events = (rest + value).split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const found = /^event: (\w+)\ndata: (.*)$/.exec(event);
      if (!found) continue; // a comment, which shows that the connection works
      const told = { event: found[1], ...JSON.parse(found[2]!) } as Told;
      onTold(told);
      if (LAST.includes(told.event)) {
        void reader.cancel();
        return true;
      }
    }
  }
}
