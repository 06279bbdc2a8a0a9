/** Messages of the playground, as the service sends and takes them. */

export interface Choice {
  name: string;
  title: string;
  summary: string;
  parameters: { name: string; default: string }[];
}

export interface Limits {
  policies: number;
  items: number;
  positions: number;
  steps: number;
  runs: number;
  seconds: number;
  megabytes: number;
  at_once: number;
  waiting: number;
}

export interface Choices {
  policies: Choice[];
  users: Choice[];
  limits: Limits;
}

/** What to simulate; a model is sent with it, but is never part of a link. */
export interface Setup {
  policies: string[];
  users: string;
  parameters: Record<string, number>;
  items: number;
  positions: number;
  best: number;
  worst: number;
  change: string;
  every: number;
  speed: number;
  steps: number;
  runs: number;
  seed: number;
}

type Pair = [number, number]; // regret and clicks

export interface CurvePoint {
  step: number;
  means: Record<string, Pair>;
  errors: Record<string, Pair>;
}

export type Told =
  | { event: "waiting"; ahead: number }
  | { event: "started"; python: string; policies: string[] }
  | { event: "policy"; policy: string }
  | ({ event: "point" } & CurvePoint)
  | { event: "done" }
  | { event: "refused"; detail: string }
  | { event: "failed"; detail: string };
