/**
 * The transport of an offered BUNDLE group: ICE and DTLS credentials of one media section, or of the session. Source: RFC 9429,
 * 5.8.3; RFC 8839, 5.4; RFC 8122, 5; RFC 8842, 5.
 */
import { succeed, type Result } from '../../lib/result.ts';
import {
  attributesOf,
  refuseLine,
  valueOf,
  type SdpAttribute,
  type SdpAttributes,
  type SdpLine,
} from './session-description.ts';

export interface IceCredentials {
  readonly ufrag: string;
  readonly password: string;
}

export interface DtlsParameters {
  readonly fingerprintAlgorithm: string;
  readonly fingerprint: string;
  readonly setup: 'active' | 'passive' | 'actpass';
}

export interface OfferedTransport {
  readonly ice: IceCredentials;
  readonly dtls: DtlsParameters;
  readonly iceOptions: ReadonlySet<string>;
  /** True: the offer has an `a=tls-id`, so the answer needs one too. */
  readonly hasTlsId: boolean;
}

type Levels = readonly SdpAttributes[];

const iceForms = {
  'ice-ufrag': [/^[A-Za-z0-9+/]{4,256}$/, 'ice-ufrag is 4 to 256 letters, digits, + and /'],
  'ice-pwd': [/^[A-Za-z0-9+/]{22,256}$/, 'ice-pwd is 22 to 256 letters, digits, + and /'],
} as const;
const fingerprintForm = /^(sha-(256|384|512)) +((?:[0-9a-f]{2}:){31,63}[0-9a-f]{2})$/i;
const setups = ['actpass', 'active', 'passive'] as const;

/** `owner`: the line quoted when an attribute is missing. */
export function readTransport(levels: Levels, owner: SdpLine): Result<OfferedTransport, string> {
  const [lite] = attributesOf(levels, 'ice-lite');
  if (lite !== undefined)
    return refuseLine(lite, 'this server sends no ICE checks, so a client needs full ICE');
  const ice = readIce(levels, owner);
  if (!ice.ok) return ice;
  const dtls = readDtls(levels, owner);
  if (!dtls.ok) return dtls;
  const iceOptions = new Set(valueOf(levels, 'ice-options')?.split(/[ ,]/) ?? []);
  const hasTlsId = attributesOf(levels, 'tls-id').length > 0;
  return succeed({ ice: ice.value, dtls: dtls.value, iceOptions, hasTlsId });
}

/** Reads each attribute from the first level that has it. */
export function readIce(levels: Levels, owner: SdpLine): Result<IceCredentials, string> {
  const ufrag = readIceValue('ice-ufrag', levels, owner);
  if (!ufrag.ok) return ufrag;
  const password = readIceValue('ice-pwd', levels, owner);
  return password.ok ? succeed({ ufrag: ufrag.value, password: password.value }) : password;
}

function readIceValue(name: keyof typeof iceForms, levels: Levels, owner: SdpLine): Result<string, string> {
  const [form, sentence] = iceForms[name];
  const [attribute] = attributesOf(levels, name);
  if (attribute === undefined) return refuseLine(owner, `a=${name} is missing`);
  return form.test(attribute.value) ? succeed(attribute.value) : refuseLine(attribute, sentence);
}

function readDtls(levels: Levels, owner: SdpLine): Result<DtlsParameters, string> {
  const [setupLine] = attributesOf(levels, 'setup');
  if (setupLine === undefined) return refuseLine(owner, 'a=setup is missing');
  const setup = setups.find((name) => name === setupLine.value);
  if (setup === undefined) return refuseLine(setupLine, 'setup is actpass, active or passive in an offer');
  const given = attributesOf(levels, 'fingerprint');
  const [first] = given;
  if (first === undefined) return refuseLine(owner, 'a=fingerprint is missing');
  const fingerprint = findFingerprint(given);
  if (fingerprint === null)
    return refuseLine(first, 'a fingerprint is sha-256, sha-384 or sha-512, a space and its bytes in hex');
  return succeed({ ...fingerprint, setup });
}

/** One certificate may have several. Weaker hashes and unknown forms are ignored. */
function findFingerprint(given: readonly SdpAttribute[]): Omit<DtlsParameters, 'setup'> | null {
  for (const { value } of given) {
    const [, algorithm = '', bits, fingerprint = ''] = fingerprintForm.exec(value) ?? [];
    if (fingerprint.length !== (Number(bits) / 8) * 3 - 1) continue;
    return { fingerprintAlgorithm: algorithm.toLowerCase(), fingerprint: fingerprint.toUpperCase() };
  }
  return null;
}
