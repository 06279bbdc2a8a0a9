/** Requests to the service; the API key is in memory alone, and is gone when the page is. */

/** The service refused a request. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

let apiKey = "";

export function useKey(key: string): void {
  apiKey = key;
}

/** Ask, and get the reply once its head has come; a refusal is an error that says why. */
export async function ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (apiKey) headers["Authorization"] = `Bearer ${apiKey}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    cache: "no-store",
    signal: signal ?? null,
  });
  if (reply.ok) return reply;
  let detail = reply.statusText;
  try {
    detail = (await reply.json()).detail ?? detail;
  } catch {
    // a proxy has answered
  }
  throw new Refusal(reply.status, detail);
}

export async function json<T>(method: string, path: string, body?: unknown): Promise<T> {
  const reply = await ask(method, path, body);
  return (reply.status === 204 ? undefined : await reply.json()) as T;
}

export const rankingPath = (name: string): string => `v1/rankings/${encodeURIComponent(name)}`;
