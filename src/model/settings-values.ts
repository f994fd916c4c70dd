/**
 * Building blocks of a settings schema: sections, settings, and kinds of values. Each kind has a sentence for the expected form,
 * so that all faults are reported alike, and parses text from the environment or a flag.
 */
import { z } from 'zod';
import { isIP } from 'node:net';
import type { TlsSettings } from '../lib/connections/tls-files.ts';
import {
  formatListenAddress,
  parseListenAddress,
  type ListenAddress,
} from '../lib/connections/listen-address.ts';

export interface SettingNote {
  readonly description: string;
  /** The value is never shown. */
  readonly secret?: true;
}

export const settingNotes = z.registry<SettingNote>();

/** `fallback`: the default as in `config/default.json`. */
export function setting<Kind extends z.ZodType>(
  kind: Kind,
  fallback: z.input<Kind>,
  description: string,
  secret?: true,
) {
  const note: SettingNote = { description, ...(secret && { secret }) };
  const prefaulted = kind.prefault(fallback);
  settingNotes.add(prefaulted, note);
  return prefaulted;
}

/** Rejects unknown keys, freezes values. */
export function section<Keys extends z.core.$ZodLooseShape>(keys: Keys) {
  return z.strictObject(keys, 'an object of settings').readonly();
}

const listenExpected = 'host:port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:0';

/** Text outside, an address inside. */
export const listenAddress = z.codec(z.string(listenExpected), z.custom<ListenAddress>(), {
  decode(text, context) {
    const address = parseListenAddress(text);
    if (address !== null) return address;
    context.issues.push({ code: 'custom', input: text, message: listenExpected });
    return z.NEVER;
  },
  encode: formatListenAddress,
});

export function wholeNumber(min: number, max: number) {
  const expected = `a whole number from ${min} to ${max}`;
  return z.number(expected).int(expected).min(min, expected).max(max, expected);
}

export function numberBetween(min: number, max: number) {
  const expected = `a number from ${min} to ${max}`;
  return z.number(expected).min(min, expected).max(max, expected);
}

/** Token bucket: tokens per second, and capacity. */
export const rate = numberBetween(0.001, 1_000_000);
export const burst = wholeNumber(1, 1_000_000);

export const onOff = z.boolean('true or false');

export function oneOf<const Choice extends string>(...choices: Choice[]) {
  return z.enum(choices, `one of ${choices.join(', ')}`);
}

const addressListExpected = 'a list of host:port, such as sleep.example:8081';

/** Addresses that others connect to, so port 0 is refused. */
export const addressList = z
  .array(
    z
      .string(addressListExpected)
      .refine((entry) => Number(parseListenAddress(entry)?.port) > 0, addressListExpected),
    addressListExpected,
  )
  .readonly();

/** Not empty. `what`: completes "expected ...". */
export function text(what: string) {
  return z.string(what).min(1, what);
}

/** Address by which clients reach an HTTP and WebSocket listener. */
export interface ReachableOrigin {
  /** Null: not stated. */
  readonly isSecure: boolean | null;
  /** `host` or `host:port`, an IPv6 address in brackets. */
  readonly authority: string;
}

/** A host name has at most 253 characters, which bounds URLs built from it. */
const originForm = /^(?:(http|ws)(s)?:\/\/)?((?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?)\/*$/;

/** Scheme, host and port, or `host:port`; null: any other form. */
export function parseOrigin(text: string): ReachableOrigin | null {
  const [, scheme, secure, authority = ''] = originForm.exec(text) ?? [];
  if (scheme === undefined && !(Number(parseListenAddress(authority)?.port) > 0)) return null;
  if (authority.endsWith(':0') || !URL.canParse(`http://${authority}`)) return null;
  return { isSecure: scheme === undefined ? null : secure === 's', authority };
}

/** Comma separated; null: one of them is invalid. */
export function parseOrigins(text: string): readonly ReachableOrigin[] | null {
  const origins = text.split(',').flatMap((part) => parseOrigin(part.trim()) ?? []);
  return origins.length === text.split(',').length ? origins : null;
}

/** Nothing, or a list for `parseOrigins`. */
export function optionalOrigins(what: string) {
  const expected = `${what}, or nothing`;
  return z
    .string(expected)
    .refine((text) => parseOrigins(text) !== null, expected)
    .nullable();
}

/** Null, or a text that is not empty. */
export function optionalText(what: string) {
  return text(`${what}, or nothing`).nullable();
}

/** Texts, none empty; comma separated in the environment and in flags. */
export function textList(what: string) {
  return z.array(text(what), what).readonly();
}

const bearerForm = /^[\x21-\x7e]+$/;

/** Keys that a peer presents as `Authorization: Bearer`: printable ASCII without spaces. */
export function bearerKeyList() {
  const what = 'a list of keys of printable ASCII without spaces, none of them empty';
  return z.array(z.string(what).regex(bearerForm, what), what).readonly();
}

const iceServerForm =
  /^(stuns?|turns?):[^\s<>"\\,;]+( [\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+ [\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+)?$/;

/** Each entry: a URL, and for TURN a user name and a password. */
export function iceServerList() {
  const what =
    'a list of STUN and TURN servers: stun:host:port, or turn:host:port, a user name and a password';
  return z.array(z.string(what).regex(iceServerForm, what), what).readonly();
}

const addressesExpected = 'a list of IP addresses';

export const addressesOnly = z
  .array(
    z.string(addressesExpected).refine((text) => isIP(text) !== 0, addressesExpected),
    addressesExpected,
  )
  .readonly();

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `first-last`, inclusive; null: any other form. */
export function parsePortRange(text: string): PortRange | null {
  const [, first, last] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).map(Number);
  const isGood = first !== undefined && last !== undefined && first > 0 && first <= last && last <= 65_535;
  return isGood ? { first, last } : null;
}

const portRangeExpected = 'two ports such as 40000-40999, or nothing';

export const optionalPortRange = z
  .string(portRangeExpected)
  .refine((text) => parsePortRange(text) !== null, portRangeExpected)
  .nullable();

/**
 * Parses text from the environment or a flag for a setting of this kind; text of another form is returned unchanged, and the
 * schema refuses it.
 */
export function readText(kind: unknown, given: string): unknown {
  if (kind instanceof z.ZodNumber) return /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : given;
  if (kind instanceof z.ZodBoolean) return booleans.get(given) ?? given;
  if (kind instanceof z.ZodArray) return given === '' ? [] : given.split(',').map((item) => item.trim());
  if (kind instanceof z.ZodNullable) return given === '' ? null : readText(kind.unwrap(), given);
  if (kind instanceof z.ZodPrefault || kind instanceof z.ZodReadonly) return readText(kind.unwrap(), given);
  return given;
}

const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** For every listener that supports TLS. */
export const tlsSettings = {
  tls_cert_file: setting(optionalText('the path of a PEM file'), null, 'Certificate chain; nothing: no TLS.'),
  tls_key_file: setting(optionalText('the path of a PEM file'), null, 'Private key of the certificate.'),
};

/** Certificate and key are given together or not at all. */
export function pairedTlsFiles(given: TlsSettings, context: z.core.$RefinementCtx): void {
  if ((given.tls_cert_file === null) === (given.tls_key_file === null)) return;
  const missing = given.tls_cert_file === null ? 'tls_cert_file' : 'tls_key_file';
  refuse(context, [missing], 'a path: a certificate and its key are given together');
}

export function refuse(context: z.core.$RefinementCtx, path: string[], expected: string): void {
  context.addIssue({ code: 'custom', path, input: null, message: expected });
}

/** For both device listeners, sleep and signal. */
export const deviceListenerSettings = {
  drain_per_second: setting(
    wholeNumber(1, 1_000_000),
    2000,
    'Sessions closed per second at an orderly stop.',
  ),
  drain_deadline_ms: setting(
    wholeNumber(0, 600_000),
    30_000,
    'Sessions still open this long after the stop began are left to the kernel.',
  ),
  ...tlsSettings,
};
