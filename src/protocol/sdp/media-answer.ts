/**
 * The answer to an offer, as text: each section of it in its order, refused or with one codec. Source: RFC 8829, 5.3;
 * RFC 8839; RFC 8841; RFC 8843, 7.3.
 */
import { feedbackUsed, type OfferedCodec, type OfferedSection } from './media-offer.ts';

export interface AnswerSection {
  readonly section: OfferedSection;
  /** Null: refused, or data channels. */
  readonly codec: OfferedCodec | null;
  /** Of this server; a section that does neither is refused. */
  readonly sends: boolean;
  readonly receives: boolean;
}

/** This server's end of the transport. */
export interface LocalTransport {
  readonly ufrag: string;
  readonly password: string;
  readonly fingerprint: string;
  readonly setup: string;
  /** Values of a=candidate, behind the colon. */
  readonly candidates: readonly string[];
}

export interface AnswerTerms {
  readonly sections: readonly AnswerSection[];
  readonly transport: LocalTransport;
  /** The streams of this server, by kind. */
  readonly ssrcs: Readonly<Record<'audio' | 'video', number>>;
  readonly sourceName: string;
  /** Of a message on a data channel that may come. */
  readonly messageBytesMax: number;
}

export function writeAnswer(terms: AnswerTerms): string {
  const accepted = terms.sections.filter(isAccepted);
  const lines = [
    'v=0',
    `o=- ${terms.ssrcs.audio} 1 IN IP4 127.0.0.1`,
    's=-',
    't=0 0',
    `a=group:BUNDLE ${accepted.map(({ section }) => section.mid).join(' ')}`,
    'a=ice-options:trickle',
    'a=msid-semantic: WMS *',
    ...terms.sections.flatMap((section) =>
      isAccepted(section) ? acceptedLines(section, terms, section === accepted[0]) : refusedLines(section),
    ),
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

function isAccepted({ sends, receives }: AnswerSection): boolean {
  return sends || receives;
}

function refusedLines({ section }: AnswerSection): string[] {
  const { kind, protocol, formats, mid } = section;
  const lines = [`m=${kind} 0 ${protocol} ${formats.join(' ')}`, 'c=IN IP4 0.0.0.0', 'a=inactive'];
  return mid === '' ? lines : [...lines, `a=mid:${mid}`];
}

function acceptedLines(answer: AnswerSection, terms: AnswerTerms, isFirst: boolean): string[] {
  const { section, codec } = answer;
  const { ufrag, password, fingerprint, setup, candidates } = terms.transport;
  const format = codec === null ? 'webrtc-datachannel' : String(codec.payloadType);
  return [
    `m=${section.kind} 9 ${section.protocol} ${format}`,
    'c=IN IP4 0.0.0.0',
    `a=mid:${section.mid}`,
    `a=ice-ufrag:${ufrag}`,
    `a=ice-pwd:${password}`,
    `a=fingerprint:${fingerprint}`,
    `a=setup:${setup}`,
    ...(codec === null ? channelLines(terms) : codecLines(answer, codec, terms)),
    ...(isFirst ? [...candidates.map((candidate) => `a=candidate:${candidate}`), 'a=end-of-candidates'] : []),
  ];
}

function channelLines({ messageBytesMax }: AnswerTerms): string[] {
  return ['a=sctp-port:5000', `a=max-message-size:${messageBytesMax}`];
}

function codecLines(
  answer: AnswerSection,
  codec: OfferedCodec,
  { ssrcs, sourceName }: AnswerTerms,
): string[] {
  const { sends, receives, section } = answer;
  const { payloadType, name, clockRate, channels, feedback } = codec;
  const kind = section.kind === 'audio' ? 'audio' : 'video';
  const map = `${name === 'opus' ? name : name.toUpperCase()}/${clockRate}${channels > 1 ? `/${channels}` : ''}`;
  const parameters = parametersOf(codec);
  return [
    `a=${sends && receives ? 'sendrecv' : sends ? 'sendonly' : 'recvonly'}`,
    'a=rtcp-mux',
    `a=rtpmap:${payloadType} ${map}`,
    ...(parameters === null ? [] : [`a=fmtp:${payloadType} ${parameters}`]),
    ...feedbackUsed.filter((name) => feedback.has(name)).map((name) => `a=rtcp-fb:${payloadType} ${name}`),
    ...(sends ? [`a=msid:reveille ${kind}`, `a=ssrc:${ssrcs[kind]} cname:${sourceName}`] : []),
  ];
}

/** H.264 has those of the offer, which a level apart must be the same; Opus those of a voice. */
function parametersOf({ name, parameters }: OfferedCodec): string | null {
  if (name === 'opus') return 'minptime=20;useinbandfec=1';
  if (name !== 'h264') return null;
  const profile = parameters.get('profile-level-id');
  const common = 'level-asymmetry-allowed=1;packetization-mode=1';
  return profile === undefined ? common : `${common};profile-level-id=${profile}`;
}
