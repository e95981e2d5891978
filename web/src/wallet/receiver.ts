// Who gets a withdrawal.

/** What is wrong with an address as somebody typed it; null if nothing is, or nothing was typed. The desk compares its checksum. */
export function wrongReceiver(typed: string, own: string): string | null {
  const address = typed.trim();
  if (address === "") return null;
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) return "An address is 0x and 40 hexadecimal digits";
  if (/^0x0+$/.test(address)) return "What is sent there is lost";
  if (address.toLowerCase() === own.toLowerCase()) return "That is your wallet here: leave the field empty";
  return null;
}
