/**
 * The login line, both ways: bytes to a login on the server, a login to text in simulated modules. What is
 * decoded has the right form; whether its proof holds is checked elsewhere. Source: sleep-wire.md, Exchange 2.
 */
import { decodeUtf8 } from '../../lib/utf8.ts';
import { parseDeviceId, type DeviceId } from '../../model/ids.ts';
import { heartbeatSecondsMax, heartbeatSecondsMin, loginLineBytesMax } from '../../model/limits.ts';
import type { SleepLogin, WakeMode } from '../../model/sleep.ts';
import { createHmac } from 'node:crypto';

export type LoginLineStep =
  | { readonly kind: 'incomplete' }
  /** `wantsReply`: the reply field could be read and is `1`, whatever else is wrong. */
  | { readonly kind: 'invalid'; readonly wantsReply: boolean }
  /** `rest`: what followed the LF in the same chunk; heartbeat bytes. */
  | { readonly kind: 'login'; readonly login: SleepLogin; readonly rest: Buffer };

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const incomplete: LoginLineStep = { kind: 'incomplete' };

/**
 * Takes a line in chunks of any size and answers the same however they were cut. The limit counts what stands
 * before the LF, a CR included: `loginLineBytesMax` bytes and then the LF are in order, one more byte is not,
 * and is refused without waiting for its LF. Not to be fed again after `invalid` or `login`.
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

  /** For a line that never ended: whether its reply field has come, and is `1`. */
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

/** A whole line without its LF; null: no module sends it. */
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

/** Only the one base64url text that the id's bytes have: no padding, no stray bits at the end. */
function parseIdField(field: string): DeviceId | null {
  const bytes = Buffer.from(field, 'base64url');
  if (bytes.toString('base64url') !== field) return null;
  const text = decodeUtf8(bytes);
  return text === null ? null : parseDeviceId(text);
}

/** The fifth field is read by its place alone; in a cut line only when the space after it has come too. */
function readsReply(line: string, extent: 'whole' | 'cut'): boolean {
  const fields = line.split(' ', 6);
  return fields[4] === '1' && (extent === 'whole' || fields.length === 6);
}

/** What a module's SDK needs to log in. */
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
 * HMAC-SHA256 over `RVL1` LF session key LF device id field LF wake LF heartbeat LF reply; 32 bytes.
 * `signedText` is the login line up to its reply field, as it stands on the wire: fields parted by one space.
 * Source: sleep-wire.md, Exchange 2, mac.
 */
export function computeLoginMac(secret: string, sessionKey: string, signedText: string): Buffer {
  const [version, ...fields] = signedText.split(' ');
  return createHmac('sha256', secret)
    .update([version, sessionKey, ...fields].join('\n'))
    .digest();
}
