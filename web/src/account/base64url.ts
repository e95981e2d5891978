// Bytes as WebAuthn writes them in JSON.

export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

export function fromBytes(bytes: ArrayBuffer | Uint8Array): string {
  const plain = Array.from(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
