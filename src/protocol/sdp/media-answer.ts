/**
 * Encodes the answer to an offer: each of its sections in order, rejected or with one codec. Each accepted section repeats the
 * transport, as browsers do: some clients read it in their own section. Source: RFC 9429, 5.3.1; RFC 8839; RFC 8841; RFC 9143,
 * 7.3.
 */
import { feedbackUsed, type OfferedChannels, type OfferedCodec, type OfferedSection } from './media-offer.ts';
import type { OfferedTransport } from './offered-transport.ts';

export interface AnswerSection {
  readonly section: OfferedSection;
  readonly accepted: OfferedCodec | OfferedChannels | null;
  readonly sends: boolean;
  readonly receives: boolean;
}

export interface AcceptedOffer {
  /** One per section of the offer, in order. */
  readonly sections: readonly AnswerSection[];
  /** The section whose transport all share. Source: RFC 9143, 7.3.1. */
  readonly tagged: OfferedSection;
  /** Names of the accepted sections, the tagged one first, then in the order of the offer's group; empty: no group. */
  readonly group: readonly string[];
  readonly transport: OfferedTransport;
}

export interface LocalTransport {
  readonly ufrag: string;
  readonly password: string;
  readonly fingerprint: string;
  readonly setup: string;
  readonly candidates: readonly string[];
}

export interface AnswerTerms {
  readonly accepted: AcceptedOffer;
  readonly transport: LocalTransport;
  readonly ssrcs: Readonly<Record<'audio' | 'video', number>>;
  readonly sourceName: string;
  /** Maximum size of a client's message on a data channel. */
  readonly messageBytesMax: number;
}

/** The library's own port, regardless of the client's. */
const sctpPort = '5000';

export function writeAnswer(terms: AnswerTerms): string {
  const { sections, group, transport } = terms.accepted;
  const iceOptions = ['ice2', 'trickle'].filter((option) => transport.iceOptions.has(option));
  const lines = [
    'v=0',
    `o=- ${terms.ssrcs.audio} 1 IN IP4 127.0.0.1`,
    's=-',
    't=0 0',
    ...(group.length === 0 ? [] : [`a=group:BUNDLE ${group.join(' ')}`]),
    ...(iceOptions.length === 0 ? [] : [`a=ice-options:${iceOptions.join(' ')}`]),
    'a=msid-semantic: WMS *',
    ...sections.flatMap((section) => sectionLines(section, terms)),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

function sectionLines(answer: AnswerSection, terms: AnswerTerms): string[] {
  const { section, accepted } = answer;
  const { kind, protocol, formats, mid } = section;
  const head = (port: number, format: string): string[] => [
    `m=${kind} ${port} ${protocol} ${format}`,
    'c=IN IP4 0.0.0.0',
    ...(mid === null ? [] : [`a=mid:${mid}`]),
  ];
  if (accepted === null) return [...head(0, formats.join(' ')), 'a=inactive'];
  if ('sctpPort' in accepted)
    return [
      ...head(9, accepted.isMapped ? sctpPort : 'webrtc-datachannel'),
      ...transportLines(section, terms),
      accepted.isMapped ? `a=sctpmap:${sctpPort} webrtc-datachannel 1024` : `a=sctp-port:${sctpPort}`,
      `a=max-message-size:${terms.messageBytesMax}`,
    ];
  return [
    ...head(9, String(accepted.payloadType)),
    ...transportLines(section, terms),
    ...codecLines(answer, accepted, terms),
  ];
}

function transportLines(section: OfferedSection, { accepted, transport, sourceName }: AnswerTerms): string[] {
  const { ufrag, password, fingerprint, setup, candidates } = transport;
  const isTagged = section === accepted.tagged;
  return [
    `a=ice-ufrag:${ufrag}`,
    `a=ice-pwd:${password}`,
    `a=fingerprint:${fingerprint}`,
    `a=setup:${setup}`,
    ...(accepted.transport.hasTlsId ? [`a=tls-id:${sourceName}`] : []),
    ...(isTagged
      ? [...candidates.map((candidate) => `a=candidate:${candidate}`), 'a=end-of-candidates']
      : []),
  ];
}

function codecLines(
  { sends, receives, section }: AnswerSection,
  codec: OfferedCodec,
  { ssrcs, sourceName }: AnswerTerms,
): string[] {
  const { payloadType, name, clockRate, channels, feedback } = codec;
  const kind = section.kind === 'audio' ? 'audio' : 'video';
  const map = `${name === 'opus' ? name : name.toUpperCase()}/${clockRate}${channels > 1 ? `/${channels}` : ''}`;
  const parameters = parametersOf(codec);
  return [
    `a=${sends && receives ? 'sendrecv' : sends ? 'sendonly' : receives ? 'recvonly' : 'inactive'}`,
    'a=rtcp-mux',
    ...(section.isReducedSize ? ['a=rtcp-rsize'] : []),
    `a=rtpmap:${payloadType} ${map}`,
    ...(parameters === null ? [] : [`a=fmtp:${payloadType} ${parameters}`]),
    ...feedbackUsed.filter((used) => feedback.has(used)).map((used) => `a=rtcp-fb:${payloadType} ${used}`),
    ...(sends ? [`a=msid:reveille ${kind}`, `a=ssrc:${ssrcs[kind]} cname:${sourceName}`] : []),
  ];
}

/** H.264 repeats the offer's parameters, which have to match except for the level; Opus uses those for voice. */
function parametersOf({ name, parameters }: OfferedCodec): string | null {
  if (name === 'opus') return 'minptime=20;useinbandfec=1';
  if (name !== 'h264') return null;
  const profile = parameters.get('profile-level-id');
  const common = 'level-asymmetry-allowed=1;packetization-mode=1';
  return profile === undefined ? common : `${common};profile-level-id=${profile}`;
}
