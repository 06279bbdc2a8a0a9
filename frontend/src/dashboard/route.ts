/** Which view the address names: "#/" is the overview, "#/new" a form, "#NAME/TAB?segment=S" a ranking. */

export const TABS = ["order", "uplift", "topics", "events", "change"] as const;
export type Tab = (typeof TABS)[number];

export interface Route {
  view: "overview" | "new" | "ranking";
  name: string;
  tab: Tab;
  segment: string;
  item: string;
}

/** The route of an address after its "#"; what cannot be read is the overview. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const route: Route = { view: "overview", name: "", tab: "order", segment: "", item: "" };
  if (path === "/new") return { ...route, view: "new" };
  if (!path || path.startsWith("/")) return route;
  const [name = "", tab = ""] = path.split("/");
  const given = new URLSearchParams(query);
  try {
    route.name = decodeURIComponent(name);
  } catch {
    return route; // not percent-encoded
  }
  route.view = "ranking";
  route.tab = TABS.find((each) => each === tab) ?? "order";
  route.segment = given.get("segment") ?? "";
  route.item = given.get("item") ?? "";
  return route;
}

/** The address of a ranking's view. */
export function address(name: string, tab: Tab = "order", segment = "", item = ""): string {
  const given = new URLSearchParams();
  if (segment) given.set("segment", segment);
  if (item) given.set("item", item);
  const query = given.toString();
  return `#${encodeURIComponent(name)}${tab === "order" ? "" : `/${tab}`}${query ? `?${query}` : ""}`;
}
