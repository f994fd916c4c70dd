/**
 * The part of an offer that is taken: for each direction at most one section of video and of sound, with one codec, and one of data
 * channels. Opus is preferred to A-law, and of H.264 the plainest profile, which every decoder has. Source: RFC 7742, 6.2;
 * RFC 7874, 3; RFC 6184, 8.1.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { SoundShape } from '../../model/media/sound.ts';
import type { AnswerSection } from '../../protocol/sdp/media-answer.ts';
import type { MediaOffer, OfferedCodec, OfferedSection } from '../../protocol/sdp/media-offer.ts';

interface AgreedCodecs {
  videoDown: OfferedCodec | null;
  videoUp: OfferedCodec | null;
  audioDown: OfferedCodec | null;
  audioUp: OfferedCodec | null;
}

export interface Agreement extends Readonly<AgreedCodecs> {
  /** One for each of the offer, in its order. */
  readonly sections: readonly AnswerSection[];
  /** The section of data channels. */
  readonly channels: OfferedSection | null;
}

const mediaProtocol = /^(?:UDP|TCP)\/TLS\/RTP\/SAVPF?$/;
const channelProtocol = /^(?:UDP\/|TCP\/)?DTLS\/SCTP$/;

/** The error is a sentence for the client. */
export function agree(offer: MediaOffer): Result<Agreement, string> {
  const codecs: AgreedCodecs = { videoDown: null, videoUp: null, audioDown: null, audioUp: null };
  let channels: OfferedSection | null = null;
  const sections = offer.sections.map((section): AnswerSection => {
    const refused = { section, codec: null, sends: false, receives: false };
    if (!section.isUsable) return refused;
    if (isChannels(section) && channels === null) {
      channels = section;
      return { ...refused, receives: true };
    }
    const codec = findCodec(section);
    if (codec === null) return refused;
    const [down, up] =
      section.kind === 'video' ? (['videoDown', 'videoUp'] as const) : (['audioDown', 'audioUp'] as const);
    const sends = section.receives && codecs[down] === null;
    const receives = section.sends && codecs[up] === null;
    if (sends) codecs[down] = codec;
    if (receives) codecs[up] = codec;
    return { section, codec, sends, receives };
  });
  if (sections.every(({ sends, receives }) => !sends && !receives)) return fail(nothingTaken);
  return succeed({ sections, ...codecs, channels });
}

const nothingTaken =
  'nothing of the offer is carried here: offer Opus or PCMA, H.264 with packetization-mode 1, or data channels, ' +
  'all in one BUNDLE and with rtcp-mux';

function isChannels({ kind, protocol, formats }: OfferedSection): boolean {
  return kind === 'application' && channelProtocol.test(protocol) && formats[0] === 'webrtc-datachannel';
}

function findCodec({ kind, protocol, codecs }: OfferedSection): OfferedCodec | null {
  if (!mediaProtocol.test(protocol)) return null;
  if (kind === 'audio') return codecs.find(isOpus) ?? codecs.find(isAlaw) ?? null;
  if (kind !== 'video') return null;
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

/** Constrained baseline, baseline, main, high; what says nothing is baseline. −1: none of them. */
function profileRank({ parameters }: OfferedCodec): number {
  const profile = (parameters.get('profile-level-id') ?? '420010').toLowerCase();
  const ranks = [/^42[4-7c-f]/, /^42/, /^4d/, /^64/];
  return ranks.findIndex((rank) => rank.test(profile));
}

/** Null: there is no sound in this direction. Of Opus as many channels as its receiver prefers. */
export function soundShapeOf(codec: OfferedCodec | null): SoundShape | null {
  if (codec === null) return null;
  if (codec.name !== 'opus') return { format: 'alaw', rate: 8000, channels: 1 };
  return { format: 'opus', rate: 48_000, channels: codec.parameters.get('stereo') === '1' ? 2 : 1 };
}
