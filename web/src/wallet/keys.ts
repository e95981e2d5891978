// Keys of orders that must not be done twice: one for each thing that is wanted, until it is known to be done.

/** Gives keys. Wanting the same again gives the same key, so that a lost answer moves nothing twice; wanting another gives another. */
export class Keys {
  private readonly known = new Map<string, string>();

  constructor(private readonly make: () => string) {}

  of(...wanted: string[]): string {
    const name = JSON.stringify(wanted);
    const key = this.known.get(name) ?? this.make();
    this.known.set(name, key);
    return key;
  }

  /** It is done: whoever wants the same after this wants it once more. */
  done(...wanted: string[]): void {
    this.known.delete(JSON.stringify(wanted));
  }
}
