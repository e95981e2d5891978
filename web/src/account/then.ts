import { useSearchParams } from "wouter";

/** Where to go after signing in: a path of this page, never an address of another one. */
export function safeThen(wanted: string | null): string {
  return wanted && /^\/(?![/\\])/.test(wanted) ? wanted : "/jobs";
}

export function useThen(): string {
  const [search] = useSearchParams();
  return safeThen(search.get("then"));
}
