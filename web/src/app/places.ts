// Where one can go. The rail, the phone's bar and the palette all show these.
import type { IconName } from "../ui/Icon";

export interface Place {
  path: string;
  text: string;
  icon: IconName;
  group: "Field" | "Requester" | "Provider" | "You";
  signedIn?: boolean;
}

export const PLACES: readonly Place[] = [
  { path: "/", text: "Network", icon: "network", group: "Field" },
  { path: "/market", text: "Market", icon: "market", group: "Field" },
  { path: "/catalogue", text: "Catalogue", icon: "catalogue", group: "Field" },
  { path: "/jobs/new", text: "New job", icon: "add", group: "Requester", signedIn: true },
  { path: "/jobs", text: "Jobs", icon: "jobs", group: "Requester", signedIn: true },
  { path: "/files", text: "Files", icon: "files", group: "Requester", signedIn: true },
  { path: "/wallet", text: "Wallet", icon: "wallet", group: "Requester", signedIn: true },
  { path: "/machines", text: "My machines", icon: "machines", group: "Provider", signedIn: true },
  { path: "/earnings", text: "Earnings", icon: "earnings", group: "Provider", signedIn: true },
  { path: "/stake", text: "Stake and votes", icon: "stake", group: "Provider", signedIn: true },
  { path: "/account", text: "Account", icon: "account", group: "You", signedIn: true },
];

/** The place that a path belongs to: the longest that it begins with. */
export function placeOf(path: string): Place | undefined {
  const within = (place: Place) => path === place.path || (place.path !== "/" && path.startsWith(`${place.path}/`));
  return [...PLACES].filter(within).sort((a, b) => b.path.length - a.path.length)[0];
}
