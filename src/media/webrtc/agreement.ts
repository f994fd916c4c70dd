/**
 * The accepted part of an offer: for each direction at most one video and one sound section with one codec, and one section of data
 * channels, all on one transport. Opus is preferred to A-law, and for H.264 the simplest profile, which every decoder supports. Source:
 * RFC 9429, 5.1.2 and 5.3.1; RFC 9143, 7.3; RFC 7742, 6.2; RFC 7874, 3; RFC 6184, 8.1.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { rtcCompatibleReportMs, rtcReportMs } from '../../model/media/rtc-limits.ts';
import { sdpSectionsShownMax } from '../../model/media/sdp-limits.ts';
import type { SoundShape } from '../../model/media/sound.ts';
import type { AcceptedOffer, AnswerSection } from '../../protocol/sdp/media-answer.ts';
import type {
  MediaOffer,
  OfferedBundle,
  OfferedChannels,
  OfferedCodec,
  OfferedSection,
} from '../../protocol/sdp/media-offer.ts';
import { readTransport } from '../../protocol/sdp/offered-transport.ts';
import { refuseLine } from '../../protocol/sdp/session-description.ts';

interface AgreedCodecs {
  videoDown: OfferedCodec | null;
  videoUp: OfferedCodec | null;
  audioDown: OfferedCodec | null;
  audioUp: OfferedCodec | null;
}

export interface Agreement extends Readonly<AgreedCodecs> {
  readonly channels: OfferedChannels | null;
  /** Interval of RTCP reports. */
  readonly reportMs: number;
}

export type AgreedOffer = Agreement & AcceptedOffer;

/** Profiles that an answerer must accept; all mean SRTP with DTLS keys. Source: RFC 9429, 5.1.2. */
const mediaProtocols: ReadonlySet<string> = new Set([
  'RTP/AVP',
  'RTP/AVPF',
  'RTP/SAVP',
  'RTP/SAVPF',
  'TCP/DTLS/RTP/SAVP',
  'TCP/DTLS/RTP/SAVPF',
  'UDP/TLS/RTP/SAVP',
  'UDP/TLS/RTP/SAVPF',
]);
const channelProtocols: ReadonlySet<string> = new Set(['UDP/DTLS/SCTP', 'TCP/DTLS/SCTP', 'DTLS/SCTP']);

type Choice = Result<OfferedCodec | OfferedChannels, string>;
type Choices = ReadonlyMap<OfferedSection, Choice>;

/** The error is a sentence for the client. */
export function agree(offer: MediaOffer): Result<AgreedOffer, string> {
  const choices = new Map(offer.sections.map((section) => [section, choose(section)]));
  for (const bundle of offer.bundles) {
    const tagged = [...bundle.sections].find(
      (section) => choices.get(section)?.ok === true && section.port === 'on' && isMuxed(section),
    );
    const agreed = tagged === undefined ? null : acceptBundle(offer, bundle, tagged, choices);
    if (agreed !== null) return agreed;
  }
  const named = offer.sections
    .slice(0, sdpSectionsShownMax)
    .map((section) => refuseLine(section.line, faultOf(section, choices.get(section))).error);
  return fail(`no section of the offer can be carried: ${named.join('; ')}`);
}

/** Chooses the codec of a section, or its data channels, before its transport is considered. The error: the reason to reject it. */
function choose({ kind, protocol, codecs, channels }: OfferedSection): Choice {
  if (kind === 'application')
    return channelProtocols.has(protocol) && channels !== null
      ? succeed(channels)
      : fail('offer data channels as UDP/DTLS/SCTP webrtc-datachannel');
  if (kind !== 'audio' && kind !== 'video') return fail('offer audio, video or data channels');
  if (!mediaProtocols.has(protocol)) return fail('offer it as UDP/TLS/RTP/SAVPF');
  const codec = kind === 'audio' ? findSound(codecs) : findVideo(codecs);
  if (codec !== null) return succeed(codec);
  return fail(kind === 'audio' ? 'offer Opus or PCMA' : 'offer H.264 with packetization-mode=1');
}

function isMuxed(section: OfferedSection): boolean {
  return section.kind === 'application' || section.isMuxed;
}

function faultOf(section: OfferedSection, choice: Choice | undefined): string {
  if (choice?.ok === false) return choice.error;
  if (section.port === 'off') return 'it is off, since its port is 0';
  if (section.port === 'bundled')
    return 'it is bundle-only, and no other section of its group can be carried';
  return isMuxed(section) ? 'it is inactive' : 'offer it with a=rtcp-mux';
}

/** `tagged`: the section whose transport the bundle uses. Null: no media would flow. */
function acceptBundle(
  offer: MediaOffer,
  bundle: OfferedBundle,
  tagged: OfferedSection,
  choices: Choices,
): Result<AgreedOffer, string> | null {
  const codecs: AgreedCodecs = { videoDown: null, videoUp: null, audioDown: null, audioUp: null };
  const payloadTypes = new Map<number, string>();
  let channels: OfferedChannels | null = null;
  const accept = (section: OfferedSection): AnswerSection => {
    const rejected = { section, accepted: null, sends: false, receives: false };
    const choice = choices.get(section);
    const isBundled = bundle.sections.has(section) && section.port !== 'off';
    if (choice?.ok !== true || !isBundled || !(isMuxed(section) || tagged.isMuxed)) return rejected;
    const accepted = choice.value;
    if ('sctpPort' in accepted) {
      if (channels !== null) return rejected;
      channels = accepted;
      return { ...rejected, accepted };
    }
    const { payloadType, name } = accepted;
    if ((payloadTypes.get(payloadType) ?? name) !== name) return rejected;
    const [down, up] =
      section.kind === 'video' ? (['videoDown', 'videoUp'] as const) : (['audioDown', 'audioUp'] as const);
    const sends = section.receives && codecs[down] === null;
    const receives = section.sends && codecs[up] === null;
    if (!sends && !receives && (section.sends || section.receives)) return rejected;
    payloadTypes.set(payloadType, name);
    if (sends) codecs[down] = accepted;
    if (receives) codecs[up] = accepted;
    return { section, accepted, sends, receives };
  };
  const first = accept(tagged);
  const sections = offer.sections.map((section) => (section === tagged ? first : accept(section)));
  if (channels === null && Object.values(codecs).every((codec) => codec === null)) return null;
  const transport = readTransport([tagged.attributes, offer.attributes], tagged.line);
  if (!transport.ok) return transport;
  const accepted = new Set(
    sections.filter((answer) => answer.accepted !== null).map((answer) => answer.section),
  );
  const named = bundle.isGroup ? [...new Set([tagged, ...bundle.sections])] : [];
  return succeed({
    ...codecs,
    channels,
    reportMs: [...accepted].some(({ hasEarlyFeedback }) => hasEarlyFeedback)
      ? rtcReportMs
      : rtcCompatibleReportMs,
    sections,
    tagged,
    group: named.filter((section) => accepted.has(section)).map(({ mid }) => mid ?? ''),
    transport: transport.value,
  });
}

function findSound(codecs: readonly OfferedCodec[]): OfferedCodec | null {
  return codecs.find(isOpus) ?? codecs.find(isAlaw) ?? null;
}

function findVideo(codecs: readonly OfferedCodec[]): OfferedCodec | null {
  const ranked = codecs
    .filter(isH264)
    .map((codec) => ({ codec, rank: profileRank(codec) }))
    .filter(({ rank }) => rank !== -1)
    .sort((one, other) => one.rank - other.rank);
  return ranked[0]?.codec ?? null;
}

function isOpus({ name, clockRate, channels }: OfferedCodec): boolean {
  return name === 'opus' && clockRate === 48_000 && channels === 2;
}

function isAlaw({ name, clockRate, channels }: OfferedCodec): boolean {
  return name === 'pcma' && clockRate === 8000 && channels === 1;
}

function isH264({ name, clockRate, parameters }: OfferedCodec): boolean {
  return name === 'h264' && clockRate === 90_000 && parameters.get('packetization-mode') === '1';
}

/** Rank: constrained baseline, baseline, main, high; the default is baseline (RFC 6184, 8.1). −1: none of them. */
function profileRank({ parameters }: OfferedCodec): number {
  const profile = (parameters.get('profile-level-id') ?? '42000a').toLowerCase();
  const ranks = [/^42[4-7c-f]/, /^42/, /^4d/, /^64/];
  return /^[0-9a-f]{6}$/.test(profile) ? ranks.findIndex((rank) => rank.test(profile)) : -1;
}

/** Null: no sound in this direction. Opus has as many channels as its receiver prefers. */
export function soundShapeOf(codec: OfferedCodec | null): SoundShape | null {
  if (codec === null) return null;
  if (codec.name !== 'opus') return { format: 'alaw', rate: 8000, channels: 1 };
  return { format: 'opus', rate: 48_000, channels: codec.parameters.get('stereo') === '1' ? 2 : 1 };
}
