/** The messages of the service that the dashboard reads; /openapi.json describes them. */

export type ItemId = string | number;

export interface Ranking {
  name: string;
  positions: number;
  policy: string;
  click_window: number;
  retention: number | null;
  reference: number | null;
  mode: string;
  holdout: number; // share of visitors that always get the baseline
  stopped: boolean; // whether the guardrail put it back to its baseline
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
  item: ItemId;
  examined: number | null;
  mean: number | null;
  low: number | null;
  high: number | null;
  index: number | null;
  shares: number[];
}

export interface LiveEvent {
  at: string;
  kind: string;
  detail: string;
  impression: string | null;
  outcome: string | null;
  by: string;
}

export interface RankingView {
  ranking: Ranking;
  history: History;
  learned: number;
  items: LiveItem[];
  recent: number;
  events: LiveEvent[];
  changes: LiveEvent[];
  reports: Record<string, number> | null;
  requests: Record<string, number> | null;
}
