/** Sound of a call: incoming packets, target formats, and the result of each packet. Source: calls-and-media.md, Legs. */

/** In the order of their numbers on the wire, from 1. */
export const audioFrameFormats = ['alaw', 'amr', 'opus', 'pcm'] as const;
export type AudioFrameFormat = (typeof audioFrameFormats)[number];

export interface SampleShape {
  /** Hz, per channel. */
  readonly rate: number;
  readonly channels: number;
}

export interface SoundShape extends SampleShape {
  readonly format: AudioFrameFormat;
}

/** True: no conversion is needed between the two. */
export function isSameSound<Sound extends SampleShape & { readonly format: string }>(
  one: Sound,
  other: Sound,
): boolean {
  return one.format === other.format && isSameShape(one, other);
}

export function isSameShape(one: SampleShape, other: SampleShape): boolean {
  return one.rate === other.rate && one.channels === other.channels;
}

/** A-law and PCM are bare samples. */
export function isSelfDescribing(format: AudioFrameFormat): boolean {
  return format === 'amr' || format === 'opus';
}

/** Rates that a leg may request, each with its maximum number of channels. */
export const soundChoices: Readonly<
  Record<AudioFrameFormat, { readonly rates: readonly number[]; readonly channelsMax: number }>
> = {
  alaw: { rates: [8000, 16_000], channelsMax: 2 },
  amr: { rates: [8000, 16_000], channelsMax: 1 },
  opus: { rates: [8000, 16_000, 48_000], channelsMax: 2 },
  pcm: { rates: [8000, 16_000, 48_000], channelsMax: 2 },
};

/** True: workers can decode and encode it; AMR with two channels is mixed down to one. */
export function isCarried({ format, rate, channels }: SoundShape): boolean {
  return soundChoices[format].rates.includes(rate) && (channels === 1 || channels === 2);
}

/** Formats with encoders: each band of AMR has its own. */
export const soundEncodings = [...audioFrameFormats, 'amr_wide'] as const;
export type SoundEncoding = (typeof soundEncodings)[number];

export function encodingOf({ format, rate }: Pick<SoundShape, 'format' | 'rate'>): SoundEncoding {
  return format === 'amr' && rate > 8000 ? 'amr_wide' : format;
}

/** Formats that a bridge requests from the device; null: unchanged. */
export interface UplinkWish {
  readonly audio: SoundShape | null;
  readonly video: 'h264' | null;
}

/** Default for a bridge without a request. */
export const asItComes: UplinkWish = { audio: null, video: null };

export interface SoundPacket {
  readonly format: AudioFrameFormat;
  /** Milliseconds, 32 bits. */
  readonly timestampMs: number;
  /** A-law or PCM s16le, interleaved; an Opus packet; AMR frames in RFC 4867's storage format, each an octet and its data. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** An encoded packet of 20 ms. */
export interface MadeSound {
  readonly timestampMs: number;
  /** In a buffer of its own. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

export interface SoundResult {
  /**
   * Per target, in the order of the targets: none while a packet is not full, several after a long packet or a gap. Timestamps
   * advance by 20 ms on one timeline; a jump of the source starts a new one. Empty: not decoded.
   */
  readonly packets: readonly (readonly MadeSound[])[];
  /**
   * Null: decoded. `rebuild_failed`: the decoder is missing, or the encoder of one target, which then has no packets; the other
   * targets have theirs.
   */
  readonly drop: 'undecodable' | 'engine' | 'overdue' | 'rebuild_failed' | null;
  readonly rebuilds: number;
  readonly workMs: number;
}
