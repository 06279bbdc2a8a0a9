/** The messages of the service that the dashboard reads; /openapi.json describes them. */

export type ItemId = string | number;

export interface StopIf {
  metric: string;
  worse_by: number;
  level: number;
}

export interface Ranking {
  name: string;
  positions: number;
  policy: string;
  click_window: number;
  retention: number | null;
  reference: number | null;
  mode: string;
  holdout: number; // share of visitors that always get the baseline
  stop_if: StopIf | null;
  stopped: boolean; // whether the guardrail put it back to its baseline
  pins: Record<string, ItemId>;
  items: number;
  created: string;
}

export interface Point {
  lists: number;
  clicked: number;
  clicks: number;
  until: string;
}

export interface History {
  lists: number;
  clicked: number;
  clicks: number;
  complete: boolean;
  points: Point[];
}

export interface LiveItem {
  place: number;
  item: ItemId;
  examined: number | null;
  mean: number | null;
  low: number | null;
  high: number | null;
  index: number | null;
  shares: number[];
  trend: number[];
  hidden: boolean;
}

export interface LiveEvent {
  at: string;
  kind: string;
  detail: string;
  impression: string | null;
  outcome: string | null;
  by: string;
}

export interface FeatureWeight {
  feature: number;
  weight: number;
  low: number;
  high: number;
  items: ItemId[];
}

export interface DetectedChange {
  at: string | null;
  item: ItemId;
  mean: number;
}

export interface RankingView {
  ranking: Ranking;
  segment: string | null;
  history: History;
  learned: number;
  found: number;
  items: LiveItem[];
  recent: number;
  events: LiveEvent[];
  changes: LiveEvent[];
  weights: FeatureWeight[];
  detected: DetectedChange[];
  uplift: Metric | null;
  reports: Record<string, number> | null;
  requests: Record<string, number> | null;
}

export interface Bounds {
  low: number;
  high: number;
}

export interface Compared {
  estimate: number;
  sequence: Bounds | null;
  fixed_horizon: Bounds | null;
}

export interface Metric {
  metric: string;
  policy: number | null;
  holdout: number | null;
  difference: Compared | null;
  ratio: Compared | null;
}

export interface GroupCounts {
  visitors: number;
  lists: number;
  clicked: number;
  clicks: number;
  clicks_at_1: number;
}

export interface UpliftPart {
  policy: GroupCounts;
  holdout: GroupCounts;
  metrics: Metric[];
}

export interface Uplift extends UpliftPart {
  mode: string;
  since: string;
  sample_ratio: { assigned: number; observed: number | null; p_value: number; level: number; alarm: boolean };
  stopped: { at: string; metric: string; worse_by: number; level: number; ratio: number; high: number } | null;
  slices: (UpliftPart & { name: string })[];
  next: string | null;
}

export interface RankingSummary {
  name: string;
  policy: string;
  mode: string;
  holdout: number;
  stopped: boolean;
  items: number;
  reference: number | null;
  lists: number;
  reports: number;
  clicked: number;
  clicks: number;
  latest: string | null;
  curve: [lists: number, clicked: number][];
  uplift: Metric | null;
}

export interface Overview {
  total: number;
  found: number;
  complete: boolean;
  rankings: RankingSummary[];
}
