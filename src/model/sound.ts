/**
 * Sound of a call as the server speaks of it: what carries it, and what can be made of it. Source: calls-and-media.md,
 * Legs.
 */

/** In the order of their numbers on the wire, from 1. */
export const audioFrameFormats = ['alaw', 'amr', 'opus', 'pcm'] as const;
export type AudioFrameFormat = (typeof audioFrameFormats)[number];

/** How sound is carried. */
export interface SoundShape {
  readonly format: AudioFrameFormat;
  /** Hz. */
  readonly rate: number;
  readonly channels: number;
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

/** What a bridge takes of the device; null: as it comes. */
export interface UplinkWish {
  readonly audio: SoundShape | null;
  readonly video: 'h264' | null;
}

/** Of a bridge that has said nothing. */
export const asItComes: UplinkWish = { audio: null, video: null };
