/**
 * Parses a WebRTC offer: directions and codecs of each media section, and the sections that share a transport. Source: RFC 9429,
 * 5.8; RFC 9143; RFC 8841 (data channels).
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { sdpMidCharactersMax, sdpSectionsMax } from '../../model/media/sdp-limits.ts';
import {
  attributesOf,
  parseSessionDescription,
  refuseLine,
  tokenForm,
  valueOf,
  type SdpAttributes,
  type SdpSection,
} from './session-description.ts';

export type OfferedCodec = Readonly<ReturnType<typeof readCodecs>[number]>;

export interface OfferedChannels {
  readonly sctpPort: number;
  /** 0: no limit. */
  readonly messageBytesMax: number;
  /** The format is the SCTP port, as before RFC 8841. */
  readonly isMapped: boolean;
}

export type OfferedSection = Readonly<ReturnType<typeof readSection>>;

/** Media sections that share one transport, in the order of preference for its owner. A single section is also a bundle. */
export interface OfferedBundle {
  readonly isGroup: boolean;
  readonly sections: ReadonlySet<OfferedSection>;
}

export interface MediaOffer {
  /** Session attributes: defaults of all sections. */
  readonly attributes: SdpAttributes;
  readonly sections: readonly OfferedSection[];
  /** In the order of their first media lines. */
  readonly bundles: readonly OfferedBundle[];
}

export const feedbackUsed = ['nack', 'nack pli', 'ccm fir', 'goog-remb'] as const;
const parametersUsed: ReadonlySet<string> = new Set(['packetization-mode', 'profile-level-id', 'stereo']);
/** Default of RFC 8841. */
const messageBytesDefault = 65_536;
/** Used by every known stack; for a client that names no port. */
const sctpPortDefault = 5000;
const directions = {
  sendrecv: { sends: true, receives: true },
  sendonly: { sends: true, receives: false },
  recvonly: { sends: false, receives: true },
  inactive: { sends: false, receives: false },
} as const;
const directionNames = ['sendrecv', 'sendonly', 'recvonly', 'inactive'] as const;

/** The error is a sentence for the client. */
export function readOffer(text: string): Result<MediaOffer, string> {
  const description = parseSessionDescription(text);
  if (!description.ok) return fail(`the offer is no session description: ${description.error}`);
  const { attributes } = description.value;
  if (description.value.sections.length === 0) return fail('the offer has no media section');
  const sections = description.value.sections.map((section) => readSection(section, attributes));
  const mids = new Set<string>();
  for (const { mid, attributes: own } of sections) {
    const [line] = own.get('mid') ?? [];
    if (mid === null || line === undefined) continue;
    if (!tokenForm.test(mid) || mid.length > sdpMidCharactersMax)
      return refuseLine(line, `a mid is a token of at most ${sdpMidCharactersMax} characters`);
    if (mids.has(mid)) return refuseLine(line, 'another media section has the same mid');
    mids.add(mid);
  }
  return succeed({ attributes, sections, bundles: readBundles(sections, attributes) });
}

/** A section belongs to the first group that names it. Names without a section are ignored. */
function readBundles(sections: readonly OfferedSection[], session: SdpAttributes): OfferedBundle[] {
  const byMid = new Map(sections.map((section) => [section.mid, section]));
  const bundles = new Map<OfferedSection, OfferedBundle>();
  for (const { value } of session.get('group') ?? []) {
    const [semantics, ...mids] = value.split(/ +/, 1 + sdpSectionsMax);
    if (semantics !== 'BUNDLE') continue;
    const named = mids.flatMap((mid) => byMid.get(mid) ?? []).filter((section) => !bundles.has(section));
    const bundle = { isGroup: true, sections: new Set(named) };
    for (const section of named) bundles.set(section, bundle);
  }
  const lone = (section: OfferedSection) => ({ isGroup: false, sections: new Set([section]) });
  return [...new Set(sections.map((section) => bundles.get(section) ?? lone(section)))];
}

function readSection(section: SdpSection, session: SdpAttributes) {
  const { line, kind, port, protocol, formats, attributes } = section;
  const levels = [attributes, session];
  const has = (name: string): boolean => attributesOf(levels, name).length > 0;
  /** `bundled`: without an address of its own. `off`: disabled by the client. */
  const portUse: 'on' | 'bundled' | 'off' =
    port !== 0 ? 'on' : attributes.has('bundle-only') ? 'bundled' : 'off';
  const direction = levels.flatMap((level) => directionNames.find((name) => level.has(name)) ?? [])[0];
  return {
    line,
    kind,
    protocol,
    formats,
    mid: valueOf([attributes], 'mid'),
    port: portUse,
    isMuxed: has('rtcp-mux') || has('rtcp-mux-only'),
    // True: RTCP may be sent without a leading report.
    isReducedSize: has('rtcp-rsize'),
    // True: RTCP feedback may be sent at once, not only at report intervals.
    hasEarlyFeedback: protocol.endsWith('AVPF') || attributes.has('rtcp-fb'),
    ...directions[direction ?? 'sendrecv'],
    codecs: readCodecs(formats, attributes),
    // Null: not a section of data channels.
    channels: kind === 'application' ? readChannels(formats, attributes) : null,
    attributes,
  };
}

/** `webrtc-datachannel` as the format, or mapped from an SCTP port as before RFC 8841. */
function readChannels(formats: readonly string[], attributes: SdpAttributes): OfferedChannels | null {
  const [format = ''] = formats;
  const map = valueOf([attributes], 'sctpmap')?.split(' ') ?? [];
  const isMapped = map[0] === format && map[1] === 'webrtc-datachannel';
  if (format !== 'webrtc-datachannel' && !isMapped) return null;
  const sctpPort = parseNumber(isMapped ? format : valueOf([attributes], 'sctp-port'), sctpPortDefault);
  const messageBytesMax = parseNumber(valueOf([attributes], 'max-message-size'), messageBytesDefault);
  return sctpPort > 0 && sctpPort <= 65_535 ? { sctpPort, messageBytesMax, isMapped } : null;
}

function parseNumber(text: string | null, otherwise: number): number {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : otherwise;
}

/** Payload types that need no `a=rtpmap`. Source: RFC 3551, 6. */
const staticCodecs: ReadonlyMap<string, string> = new Map([['8', 'PCMA/8000']]);

/** Each attribute is read once, whatever the number of formats. */
function readCodecs(formats: readonly string[], attributes: SdpAttributes) {
  const maps = firstByFormat(attributes, 'rtpmap');
  const parameters = firstByFormat(attributes, 'fmtp');
  const feedback = feedbackByFormat(attributes);
  return [...new Set(formats)].flatMap((format) => {
    const map = maps.get(format) ?? staticCodecs.get(format) ?? '';
    const [, name, clockRate, channels] = /^([\w.-]{1,32})\/(\d{1,6})(?:\/(\d))?$/.exec(map) ?? [];
    if (!/^\d{1,3}$/.test(format) || Number(format) > 127 || name === undefined) return [];
    return {
      payloadType: Number(format),
      // In lower case.
      name: name.toLowerCase(),
      clockRate: Number(clockRate),
      channels: Number(channels ?? 1),
      // The parameters in `parametersUsed`; names are in lower case.
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

/** The values of an attribute, each split into its format and the rest. */
function ofFormats(attributes: SdpAttributes, name: string): [string, string][] {
  return (attributes.get(name) ?? []).map(({ value }) => {
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
