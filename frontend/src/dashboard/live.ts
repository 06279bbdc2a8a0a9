/** Follows a state by server-sent events, read with fetch so that an API key can be sent. */

import { ask, Refusal } from "./api";

const FIRST_WAIT = 1000; // milliseconds until the next attempt
const LONGEST_WAIT = 15_000;
const SILENCE = 30_000; // the service sends a comment more often

export interface Follower<T> {
  onState(state: T): void;
  /** The connection is lost, and will be tried again. */
  onLost(): void;
  /** The service refuses; it is not tried again. */
  onRefused(refusal: Refusal): void;
}

/** Follow a stream until the function that this returns is called. */
export function follow<T>(path: string, follower: Follower<T>): () => void {
  const stop = new AbortController();
  void run(path, follower, stop.signal);
  return () => stop.abort();
}

async function run<T>(path: string, follower: Follower<T>, stopped: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT;
  while (!stopped.aborted) {
    try {
      await read<T>(path, stopped, (state) => {
        wait = FIRST_WAIT;
        follower.onState(state);
      });
    } catch (problem) {
      if (stopped.aborted) return;
      const isForGood = problem instanceof Refusal && problem.status < 500 && problem.status !== 429;
      if (isForGood) return follower.onRefused(problem);
      follower.onLost();
    }
    if (stopped.aborted) return; // else the service has ended the stream, as it does now and then
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
}

/** Read one stream to its end. */
async function read<T>(path: string, stopped: AbortSignal, onState: (state: T) => void): Promise<void> {
  const silent = new AbortController();
  const reply = await ask("GET", path, undefined, AbortSignal.any([stopped, silent.signal]));
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const timer = setTimeout(() => silent.abort(), SILENCE);
    const { value, done } = await reader.read();
    clearTimeout(timer);
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data && event.startsWith("event: state") && !stopped.aborted) onState(JSON.parse(data));
    }
  }
}
