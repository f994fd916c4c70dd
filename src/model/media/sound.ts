/**
 * Sound of a call as the server speaks of it: packets that come in, how they are to go out, and what becomes of each.
 * Source: calls-and-media.md, Legs.
 */

/** In the order of their numbers on the wire, from 1. */
export const audioFrameFormats = ['alaw', 'amr', 'opus', 'pcm'] as const;
export type AudioFrameFormat = (typeof audioFrameFormats)[number];

/** Rate and channels of samples. */
export interface SampleShape {
  /** Hz, per channel. */
  readonly rate: number;
  readonly channels: number;
}

/** How sound is carried. */
export interface SoundShape extends SampleShape {
  readonly format: AudioFrameFormat;
}

/** Of sources or of targets: nothing has to be done between them. */
export function isSameSound<Sound extends SampleShape & { readonly format: string }>(
  one: Sound,
  other: Sound,
): boolean {
  return one.format === other.format && isSameShape(one, other);
}

export function isSameShape(one: SampleShape, other: SampleShape): boolean {
  return one.rate === other.rate && one.channels === other.channels;
}

/** The rates that a leg may ask for, and up to how many channels. */
export const soundChoices: Readonly<
  Record<AudioFrameFormat, { readonly rates: readonly number[]; readonly channelsMax: number }>
> = {
  alaw: { rates: [8000, 16_000], channelsMax: 2 },
  amr: { rates: [8000, 16_000], channelsMax: 1 },
  opus: { rates: [8000, 16_000, 48_000], channelsMax: 2 },
  pcm: { rates: [8000, 16_000, 48_000], channelsMax: 2 },
};

/** Whether workers can take it or make it; AMR of two channels is made of one. */
export function isCarried({ format, rate, channels }: SoundShape): boolean {
  return soundChoices[format].rates.includes(rate) && (channels === 1 || channels === 2);
}

/** What there are encoders of: the two bands of AMR have one each. */
export const soundEncodings = [...audioFrameFormats, 'amr_wide'] as const;
export type SoundEncoding = (typeof soundEncodings)[number];

export function encodingOf({ format, rate }: Pick<SoundShape, 'format' | 'rate'>): SoundEncoding {
  return format === 'amr' && rate > 8000 ? 'amr_wide' : format;
}

/** What a bridge takes of the device; null: as it comes. */
export interface UplinkWish {
  readonly audio: SoundShape | null;
  readonly video: 'h264' | null;
}

/** Of a bridge that has said nothing. */
export const asItComes: UplinkWish = { audio: null, video: null };

/** A packet as it comes: of any length up to `soundPacketMsMax`. */
export interface SoundPacket {
  readonly format: AudioFrameFormat;
  /** Milliseconds, 32 bits. */
  readonly timestampMs: number;
  /** A-law or PCM s16le, interleaved; an Opus packet; AMR frames of RFC 4867's storage form, each an octet and its data. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** A packet of 20 ms. */
export interface MadeSound {
  readonly timestampMs: number;
  /** In a buffer of its own. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** What came of one packet. */
export interface SoundResult {
  /**
   * In the order of the targets: none while a packet is not full, several behind a long packet or a gap. Timestamps go in
   * steps of 20 ms on one time line, and a new one begins where the source jumps. Empty where it was not decoded.
   */
  readonly packets: readonly (readonly MadeSound[])[];
  /**
   * Null: it was decoded. `rebuild_failed`: there is no decoder for it, or no encoder for one of the targets, which has no
   * packets; the others have theirs.
   */
  readonly drop: 'undecodable' | 'engine' | 'overdue' | 'rebuild_failed' | null;
  /** Decoders and resamplers made anew because the source changed. */
  readonly rebuilds: number;
  /** Milliseconds the worker spent on it. */
  readonly workMs: number;
}
