/**
 * A push of the messaging app in its platform's secure mode: who sent it, and what it says. Signatures are SHA-1 over
 * the sorted deps, the message is AES-256-CBC under a key both sides know. What the message means is not here.
 */
import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';

/** As they stand in the platform's console. */
export interface PushSecrets {
  /** The token that every signature is made with. */
  readonly token: string;
  /** The EncodingAESKey: 43 characters, 32 bytes in Base64 without the padding. */
  readonly encodingAesKey: string;
  /** The mini program whose pushes these are. */
  readonly appId: string;
}

export function isEncodingAesKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}$/.test(text);
}

/** The platform pads to 32 bytes, twice the block of AES, which is why node's own padding does not do. */
const paddingBytesMax = 32;
const randomBytes = 16;
const lengthBytes = 4;

export class PushCipher {
  readonly #token: string;
  readonly #key: Buffer;
  readonly #appId: string;

  /** Throws where the key is not 43 characters of Base64. */
  constructor({ token, encodingAesKey, appId }: PushSecrets) {
    if (!isEncodingAesKey(encodingAesKey)) throw new Error('an EncodingAESKey has 43 characters');
    this.#token = token;
    this.#key = Buffer.from(`${encodingAesKey}=`, 'base64');
    this.#appId = appId;
  }

  /** `deps`: timestamp, nonce and, of a push, what it has encrypted. Takes as long whatever the signature is. */
  isSigned(signature: string, ...deps: readonly string[]): boolean {
    const expected = createHash('sha1')
      .update([this.#token, ...deps].sort().join(''))
      .digest();
    const given = Buffer.from(signature, 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /**
   * The message in the clear; null: it was not made with this key, is for another app, or is broken. Only for what
   * `isSigned`, so that nobody learns anything from how it fails.
   */
  decrypt(encrypted: string): string | null {
    const padded = this.#decipher(Buffer.from(encrypted, 'base64'));
    const plain = padded === null ? null : withoutPadding(padded);
    if (plain === null || plain.length < randomBytes + lengthBytes) return null;
    const messageStart = randomBytes + lengthBytes;
    const messageEnd = messageStart + plain.readUInt32BE(randomBytes);
    if (messageEnd > plain.length || plain.toString('utf8', messageEnd) !== this.#appId) return null;
    return utf8OrNull(plain.subarray(messageStart, messageEnd));
  }

  #decipher(bytes: Buffer): Buffer | null {
    if (bytes.length === 0 || bytes.length % paddingBytesMax !== 0) return null;
    const decipher = createDecipheriv('aes-256-cbc', this.#key, this.#key.subarray(0, 16));
    decipher.setAutoPadding(false);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  }
}

/** PKCS#7: as many bytes as are missing, each of them that number. */
function withoutPadding(padded: Buffer): Buffer | null {
  const count = padded.at(-1) ?? 0;
  if (count < 1 || count > paddingBytesMax) return null;
  const end = padded.length - count;
  return padded.subarray(end).every((byte) => byte === count) ? padded.subarray(0, end) : null;
}

/** Null: it is no UTF-8. */
export function utf8OrNull(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
