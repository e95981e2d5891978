// Whether a passphrase is worth the name. The hub decides; this only says so earlier.

export const LENGTH_MIN = 12;
const DIFFERENT_MIN = 5;

export function strength(passphrase: string): { enough: boolean; words: string } {
  const different = new Set(passphrase).size;
  if (passphrase.length < LENGTH_MIN) return { enough: false, words: `At least ${LENGTH_MIN} characters; a short sentence is easiest to keep in mind` };
  if (different < DIFFERENT_MIN) return { enough: false, words: "Too few different characters" };
  return { enough: true, words: passphrase.length >= 20 ? "Long, and so hard to guess" : "Good; longer is better" };
}
