// Whether a passphrase is worth the name. The hub decides; this only says so earlier.

export const LENGTH_MIN = 10;
const DIFFERENT_MIN = 5;

export function strength(passphrase: string): { enough: boolean; words: string } {
  const different = new Set(passphrase).size;
  if (passphrase.length < LENGTH_MIN) return { enough: false, words: `At least ${LENGTH_MIN} characters; a few words are easier to remember than signs` };
  if (different < DIFFERENT_MIN) return { enough: false, words: "It repeats itself: choose a few words that do not belong together" };
  return { enough: true, words: passphrase.length >= 20 ? "Long, and so hard to guess" : "Good; longer is better" };
}
