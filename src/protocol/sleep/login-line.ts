/**
 * The login line: decoded on the server, encoded in simulated modules. Only the form is checked here; the mac is verified
 * elsewhere. Source: sleep-wire.md, Exchange 2.
 */
import { decodeUtf8 } from '../../lib/utf8.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { heartbeatSecondsMax, heartbeatSecondsMin, loginLineBytesMax } from '../../model/limits.ts';
import type { SleepLogin, WakeMode } from '../../model/sleep.ts';
import { hmacSha256OfSecret } from '../../lib/crypto/hmac.ts';

export type LoginLineStep =
  | { readonly kind: 'incomplete' }
  /** `wantsReply`: the reply field is readable and `1`, whatever else is wrong. */
  | { readonly kind: 'invalid'; readonly wantsReply: boolean }
  /** `rest`: bytes after the LF in the same chunk; heartbeats. */
  | { readonly kind: 'login'; readonly login: SleepLogin; readonly rest: Buffer };

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const incomplete: LoginLineStep = { kind: 'incomplete' };

/**
 * Decodes a line from chunks of any size, with the same result however they were cut. The limit counts the bytes before the LF,
 * a CR included: a line of `loginLineBytesMax` bytes is accepted; one more byte is refused without waiting for the LF. Must not
 * be fed after `invalid` or `login`.
 */
export class LoginLineDecoder {
  #held: Buffer | null = null;

  feed(chunk: Buffer): LoginLineStep {
    const bytes = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    const lineEnd = bytes.indexOf(lineFeed);
    if (lineEnd > loginLineBytesMax || (lineEnd === -1 && bytes.length > loginLineBytesMax))
      return {
        kind: 'invalid',
        wantsReply: readsReply(bytes.toString('latin1', 0, loginLineBytesMax), 'cut'),
      };
    if (lineEnd === -1) {
      this.#held = bytes;
      return incomplete;
    }
    const textEnd = bytes[lineEnd - 1] === carriageReturn ? lineEnd - 1 : lineEnd;
    const line = bytes.toString('latin1', 0, textEnd);
    const login = parseLoginLine(line);
    if (login === null) return { kind: 'invalid', wantsReply: readsReply(line, 'whole') };
    return { kind: 'login', login, rest: bytes.subarray(lineEnd + 1) };
  }

  /** For an unfinished line: true if its reply field has arrived and is `1`. */
  get wantsReply(): boolean {
    return this.#held !== null && readsReply(this.#held.toString('latin1'), 'cut');
  }
}

const form = /^RVL1 ([\w-]{2,340}) (\w+) ([1-9]\d{0,3}) ([01]) ([\da-f]{64})$/;
const wakeModes: ReadonlyMap<string, WakeMode> = new Map([
  ['fixed', 'fixed'],
  ['custom', 'custom'],
  ['none', 'none'],
]);
const macFieldLength = 1 + 64;

/** `line`: whole, without its LF. Null: malformed. */
export function parseLoginLine(line: string): SleepLogin | null {
  const [, idField = '', wake = '', heartbeat, reply, mac = ''] = form.exec(line) ?? [];
  const deviceId = parseIdField(idField);
  const wakeMode = wakeModes.get(wake);
  const heartbeatSeconds = Number(heartbeat);
  if (deviceId === null || wakeMode === undefined) return null;
  if (!(heartbeatSeconds >= heartbeatSecondsMin && heartbeatSeconds <= heartbeatSecondsMax)) return null;
  return {
    deviceId,
    wakeMode,
    heartbeatSeconds,
    wantsReply: reply === '1',
    mac: Buffer.from(mac, 'hex'),
    signedText: line.slice(0, -macFieldLength),
  };
}

/** Accepts only the canonical base64url text of the id's bytes: no padding, no stray bits at the end. */
function parseIdField(field: string): DeviceId | null {
  const bytes = Buffer.from(field, 'base64url');
  if (bytes.toString('base64url') !== field) return null;
  const text = decodeUtf8(bytes);
  return text === null ? null : parseDeviceId(text);
}

/** The fifth field, found by its position alone; in a cut line only if the space after it has arrived. */
function readsReply(line: string, extent: 'whole' | 'cut'): boolean {
  const fields = line.split(' ', 6);
  return fields[4] === '1' && (extent === 'whole' || fields.length === 6);
}

export interface LoginCredentials {
  readonly deviceId: string;
  readonly secret: string;
  readonly wakeMode: WakeMode;
  /** 5-3600. */
  readonly heartbeatSeconds: number;
  readonly wantsReply: boolean;
}

/** The line for this session key, its LF included. */
export function encodeLoginLine(credentials: LoginCredentials, sessionKey: string): string {
  const { deviceId, secret, wakeMode, heartbeatSeconds, wantsReply } = credentials;
  const idField = Buffer.from(deviceId, 'utf8').toString('base64url');
  const signedText = `RVL1 ${idField} ${wakeMode} ${heartbeatSeconds} ${wantsReply ? 1 : 0}`;
  const mac = computeLoginMac(secret, sessionKey, signedText).toString('hex');
  return `${signedText} ${mac}\n`;
}

/**
 * HMAC-SHA256 over `RVL1` LF session key LF device id field LF wake LF heartbeat LF reply; 32 bytes. `signedText`: the login
 * line up to its reply field, as on the wire, fields separated by one space. Source: sleep-wire.md, Exchange 2, mac.
 */
export function computeLoginMac(secret: string, sessionKey: string, signedText: string): Buffer {
  const versionEnd = signedText.indexOf(' ');
  const fields = signedText.slice(versionEnd).replaceAll(' ', '\n');
  return hmacSha256OfSecret(secret, `${signedText.slice(0, versionEnd)}\n${sessionKey}${fields}`);
}
