// Answers that come in pages, put together as far as a page can show them.

/** The most pages that are asked for at once. */
export const PAGES_MAX = 10;

/** Asks for one page after the other. `more` says that there would have been others. */
export async function everyPage<P extends { next?: string | null }>(ask: (cursor: string | null) => Promise<P>): Promise<{ pages: P[]; more: boolean }> {
  const pages: P[] = [];
  let cursor: string | null = null;
  while (pages.length < PAGES_MAX) {
    const page: P = await ask(cursor);
    pages.push(page);
    cursor = page.next ?? null;
    if (!cursor) return { pages, more: false };
  }
  return { pages, more: true };
}
