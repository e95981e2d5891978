// Passkeys: the browser's part of signing in without a passphrase.
import { fromBytes, toBytes } from "./base64url";

interface Descriptor {
  id: string;
  type: "public-key";
  transports?: AuthenticatorTransport[];
}

interface Options {
  challenge: string;
  rpId?: string;
  timeout?: number;
  userVerification?: UserVerificationRequirement;
  allowCredentials?: Descriptor[];
  excludeCredentials?: Descriptor[];
  rp?: PublicKeyCredentialRpEntity;
  user?: { id: string; name: string; displayName: string };
  pubKeyCredParams?: PublicKeyCredentialParameters[];
  authenticatorSelection?: AuthenticatorSelectionCriteria;
  attestation?: AttestationConveyancePreference;
}

/** Options as the hub sends them: bare, or within `publicKey`. */
export function optionsOf(answer: unknown): Options {
  const value = answer as { publicKey?: Options } & Options;
  return value.publicKey ?? value;
}

function descriptors(list: Descriptor[] | undefined): PublicKeyCredentialDescriptor[] | undefined {
  return list?.map((one) => ({ ...one, id: toBytes(one.id) }));
}

/** Whether this browser knows passkeys here: only on pages over https or on this machine. */
export function hasPasskeys(): boolean {
  return window.isSecureContext && "credentials" in navigator && "PublicKeyCredential" in window;
}

/** Lets the person prove a passkey; what the hub checks. */
export async function provePasskey(answer: unknown): Promise<unknown> {
  const options = optionsOf(answer);
  const { challenge, timeout, rpId, userVerification } = options;
  const publicKey = { challenge: toBytes(challenge), timeout, rpId, userVerification, allowCredentials: descriptors(options.allowCredentials) };
  const found = await navigator.credentials.get({ publicKey });
  if (!(found instanceof PublicKeyCredential)) throw new Error("No passkey was given.");
  const response = found.response as AuthenticatorAssertionResponse;
  return {
    ...head(found),
    response: {
      clientDataJSON: fromBytes(response.clientDataJSON),
      authenticatorData: fromBytes(response.authenticatorData),
      signature: fromBytes(response.signature),
      userHandle: response.userHandle ? fromBytes(response.userHandle) : null,
    },
  };
}

/** Lets the person make a passkey; what the hub keeps. */
export async function makePasskey(answer: unknown): Promise<unknown> {
  const options = optionsOf(answer);
  if (!options.user || !options.rp) throw new Error("The hub did not say for whom the passkey is.");
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: toBytes(options.challenge),
      rp: options.rp,
      user: { ...options.user, id: toBytes(options.user.id) },
      pubKeyCredParams: options.pubKeyCredParams ?? [],
      timeout: options.timeout,
      excludeCredentials: descriptors(options.excludeCredentials),
      authenticatorSelection: options.authenticatorSelection,
      attestation: options.attestation,
    },
  });
  if (!(made instanceof PublicKeyCredential)) throw new Error("No passkey was made.");
  const response = made.response as AuthenticatorAttestationResponse;
  return {
    ...head(made),
    response: {
      clientDataJSON: fromBytes(response.clientDataJSON),
      attestationObject: fromBytes(response.attestationObject),
      transports: response.getTransports(),
    },
  };
}

function head(credential: PublicKeyCredential) {
  return { id: credential.id, rawId: fromBytes(credential.rawId), type: credential.type, clientExtensionResults: credential.getClientExtensionResults() };
}
