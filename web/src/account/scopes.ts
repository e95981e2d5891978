import type { Scopes } from "../api/views";

/** What a token may do, in words. */
export function scopeWords(scopes: Scopes, spent: string): string {
  const may = [scopes.read ? "read" : "", scopes.submit ? "submit" : "", scopes.spend != null ? `spend ${scopes.spend} GLN (${spent} so far)` : "", scopes.provide ? "provide" : ""];
  return may.filter(Boolean).join(", ");
}
