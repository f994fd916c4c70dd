/**
 * An offer of WebRTC read for what this server carries: credentials of ICE and DTLS, and of each media section its
 * directions and codecs. Source: RFC 8829, 5.8; RFC 8839; RFC 8842; RFC 8843; RFC 8841 (data channels).
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { sdpSectionsMax } from '../../model/media/sdp-limits.ts';
import {
  attributeOf,
  parseSessionDescription,
  type SdpAttributes,
  type SdpSection,
  type SessionDescription,
} from './session-description.ts';

export interface OfferedCodec {
  readonly payloadType: number;
  /** In lower case. */
  readonly name: string;
  readonly clockRate: number;
  readonly channels: number;
  /** The parameters in `parametersUsed`; names are in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Names in `feedbackUsed`. */
  readonly feedback: ReadonlySet<string>;
}

export interface OfferedSection {
  readonly kind: string;
  readonly protocol: string;
  readonly formats: readonly string[];
  /** Empty: it has none, and is refused. */
  readonly mid: string;
  /** It may be accepted: not switched off, of the bundle and with RTCP beside RTP. */
  readonly isUsable: boolean;
  /** Of the client. */
  readonly sends: boolean;
  readonly receives: boolean;
  /** Empty where it is not usable. */
  readonly codecs: readonly OfferedCodec[];
  /** Of a message on a data channel. */
  readonly messageBytesMax: number;
  /** Of data channels. */
  readonly sctpPort: number;
}

export interface IceCredentials {
  readonly ufrag: string;
  readonly password: string;
}

export interface DtlsParameters {
  readonly fingerprintAlgorithm: string;
  readonly fingerprint: string;
  readonly setup: 'active' | 'passive' | 'actpass';
}

export interface MediaOffer {
  readonly ice: IceCredentials;
  readonly dtls: DtlsParameters;
  readonly sections: readonly OfferedSection[];
}

/** Feedback that this server answers, and sends. */
export const feedbackUsed = ['nack', 'nack pli', 'ccm fir', 'goog-remb'] as const;
const parametersUsed: ReadonlySet<string> = new Set(['packetization-mode', 'profile-level-id', 'stereo']);
/** What RFC 8841 takes for said where nothing is. */
const messageBytesDefault = 65_536;
const sctpPortDefault = 5000;
const directions: Readonly<Record<string, { readonly sends: boolean; readonly receives: boolean }>> = {
  sendrecv: { sends: true, receives: true },
  sendonly: { sends: true, receives: false },
  recvonly: { sends: false, receives: true },
  inactive: { sends: false, receives: false },
};

/** The error is a sentence for the client. */
export function readOffer(text: string): Result<MediaOffer, string> {
  const description = parseSessionDescription(text);
  if (!description.ok) return fail(`the offer is no session description: ${description.error}`);
  const { sections } = description.value;
  const bundle = bundleOf(description.value);
  const first =
    sections.find(({ attributes }) => bundle.has(attributeOf(attributes, 'mid') ?? '')) ?? sections[0];
  if (first === undefined) return fail('the offer has no media section');
  const ice = readIce([first.attributes, description.value.attributes]);
  if (ice === null) return fail('the offer has no ice-ufrag and ice-pwd, of 4 and 22 characters at least');
  const dtls = readDtls([first.attributes, description.value.attributes]);
  if (dtls === null)
    return fail(
      'the offer has no fingerprint of sha-256, sha-384 or sha-512, or a setup that is no role of an offer',
    );
  return succeed({
    ice,
    dtls,
    sections: sections.map((section) => readSection(section, bundle, sections.length)),
  });
}

/** The sections that share one transport; a lone section is a bundle of its own. */
function bundleOf({ attributes }: SessionDescription): ReadonlySet<string> {
  const [, ...mids] =
    attributes
      .get('group')
      ?.find((group) => /^BUNDLE(?: |$)/.test(group))
      ?.split(' ', 1 + sdpSectionsMax) ?? [];
  return new Set(mids);
}

/** From the first of the levels that has both. Null: none has, or they are not as the grammar wants them. */
export function readIce(levels: readonly SdpAttributes[]): IceCredentials | null {
  const ufrag = valueOf(levels, 'ice-ufrag');
  const password = valueOf(levels, 'ice-pwd');
  const isGood = /^[A-Za-z0-9+/]{4,256}$/.test(ufrag) && /^[A-Za-z0-9+/]{22,256}$/.test(password);
  return isGood ? { ufrag, password } : null;
}

function readDtls(levels: readonly SdpAttributes[]): DtlsParameters | null {
  const setup = valueOf(levels, 'setup');
  if (setup !== 'active' && setup !== 'passive' && setup !== 'actpass') return null;
  for (const value of levels.flatMap((attributes) => attributes.get('fingerprint') ?? [])) {
    const match = /^(sha-(?:256|384|512)) ((?:[0-9a-f]{2}:){31,63}[0-9a-f]{2})$/i.exec(value);
    const [, algorithm = '', fingerprint = ''] = match ?? [];
    if (match === null || fingerprint.length !== (Number(algorithm.slice(4)) / 8) * 3 - 1) continue;
    return { fingerprintAlgorithm: algorithm.toLowerCase(), fingerprint: fingerprint.toUpperCase(), setup };
  }
  return null;
}

function valueOf(levels: readonly SdpAttributes[], name: string): string {
  for (const attributes of levels) {
    const value = attributeOf(attributes, name);
    if (value !== null) return value;
  }
  return '';
}

function readSection(section: SdpSection, bundle: ReadonlySet<string>, sectionCount: number): OfferedSection {
  const { kind, port, protocol, formats, attributes } = section;
  const mid = attributeOf(attributes, 'mid') ?? '';
  const isOn = port !== 0 || attributes.has('bundle-only');
  const isBundled = bundle.has(mid) || (sectionCount === 1 && bundle.size === 0);
  const isMixed = kind === 'application' || attributes.has('rtcp-mux');
  const direction = Object.keys(directions).find((name) => attributes.has(name)) ?? 'sendrecv';
  const isUsable = isOn && isBundled && isMixed && /^[\w.+-]{1,64}$/.test(mid);
  return {
    kind,
    protocol,
    formats,
    mid,
    isUsable,
    ...(directions[direction] ?? { sends: false, receives: false }),
    codecs: isUsable ? readCodecs(formats, attributes) : [],
    messageBytesMax: readNumber(attributes, 'max-message-size', messageBytesDefault),
    sctpPort: readNumber(attributes, 'sctp-port', sctpPortDefault),
  };
}

function readNumber(attributes: SdpAttributes, name: string, otherwise: number): number {
  const value = attributeOf(attributes, name) ?? '';
  return /^\d{1,10}$/.test(value) ? Number(value) : otherwise;
}

/** Payload types that stand for a codec without being told. Source: RFC 3551, 6. */
const staticCodecs: ReadonlyMap<string, string> = new Map([['8', 'PCMA/8000']]);

/** Each attribute is read once, whatever the number of formats. */
function readCodecs(formats: readonly string[], attributes: SdpAttributes): OfferedCodec[] {
  const maps = firstByFormat(attributes, 'rtpmap');
  const parameters = firstByFormat(attributes, 'fmtp');
  const feedback = feedbackByFormat(attributes);
  return [...new Set(formats)].flatMap((format) => {
    const map = maps.get(format) ?? staticCodecs.get(format) ?? '';
    const [, name, clockRate, channels] = /^([\w.-]{1,32})\/(\d{1,6})(?:\/(\d))?$/.exec(map) ?? [];
    if (!/^\d{1,3}$/.test(format) || Number(format) > 127 || name === undefined) return [];
    return {
      payloadType: Number(format),
      name: name.toLowerCase(),
      clockRate: Number(clockRate),
      channels: Number(channels ?? 1),
      parameters: readParameters(parameters.get(format) ?? ''),
      feedback: new Set([...(feedback.get(format) ?? []), ...(feedback.get('*') ?? [])]),
    };
  });
}

function firstByFormat(attributes: SdpAttributes, name: string): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  for (const [format, text] of ofFormats(attributes, name)) if (!first.has(format)) first.set(format, text);
  return first;
}

function feedbackByFormat(attributes: SdpAttributes): ReadonlyMap<string, ReadonlySet<string>> {
  const byFormat = new Map<string, Set<string>>();
  for (const [format, text] of ofFormats(attributes, 'rtcp-fb')) {
    const known = feedbackUsed.find((name) => name === text);
    if (known !== undefined) byFormat.set(format, (byFormat.get(format) ?? new Set()).add(known));
  }
  return byFormat;
}

/** The values of an attribute, each as the format that it is about and the rest. */
function ofFormats(attributes: SdpAttributes, name: string): [string, string][] {
  return (attributes.get(name) ?? []).map((value) => {
    const space = value.indexOf(' ');
    return space === -1 ? [value, ''] : [value.slice(0, space), value.slice(space + 1).trim()];
  });
}

function readParameters(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const part of text.split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2);
    if (parametersUsed.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
  }
  return parameters;
}
