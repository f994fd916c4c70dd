/** Video of a call: incoming frames, outgoing pictures, and the result of each. Source: calls-and-media.md, Legs and Resolution. */
import type { ResolutionMode, Size } from '../call.ts';

/** In the order of their numbers on the wire, from 1. */
export const videoFrameFormats = ['h264', 'h265', 'mjpeg', 'i420'] as const;
export type VideoFrameFormat = (typeof videoFrameFormats)[number];

export interface SourceFrame {
  readonly format: VideoFrameFormat;
  readonly isKeyFrame: boolean;
  /** Pixels as in its header; 0: unstated. The size in the payload decides. */
  readonly width: number;
  readonly height: number;
  /** An Annex B access unit, one JPEG, or planes of Y, U and V without padding. The receiver of the frame owns it. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** `parameters`: decoder parameters without a picture; `nothing`: no known content. */
export type FrameContent = 'picture' | 'parameters' | 'nothing';

/** Facts about a frame, read without decoding it. */
export interface FrameDescription {
  /** The size in the payload; null: it states none. */
  readonly size: Size | null;
  /** True: decoding can start at this frame. */
  readonly isKey: boolean;
  /** Always `picture` for formats whose frames stand alone. */
  readonly content: FrameContent;
}

export type PictureFormat = 'mjpeg' | 'h264';

/** The shape of an outgoing picture. `screen`: null only under `auto`. `format`: default: JPEG. */
export interface PictureShape {
  readonly mode: ResolutionMode;
  readonly screen: Size | null;
  readonly format?: PictureFormat;
}

/** A JPEG, or an Annex B access unit that depends on the previous one of the same shape. */
export interface Picture {
  readonly format: PictureFormat;
  /** Always true for a JPEG. */
  readonly isKey: boolean;
  readonly size: Size;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Reasons why a frame yields no picture. `undecodable`: corrupt; `too_large`: the frame or the picture exceeds the maximum
 * size; `no_key_frame`: a required key frame is missing; `too_small`: a side of the picture would be 0; `rebuild_failed`: scaler
 * or encoder could not be created; `engine`: its worker died; `overdue`: decoding it, or a recent frame, exceeded the time
 * limit.
 */
const frameDrops = [
  'undecodable',
  'too_large',
  'no_key_frame',
  'too_small',
  'rebuild_failed',
  'engine',
  'overdue',
] as const;
export type FrameDrop = (typeof frameDrops)[number];

/** `cut`: the end of a picture is missing; `too_costly`: its decoding would exceed a limit of work. */
export type UndecodableCause = 'cut' | 'too_costly';

/** Reasons for dropped frames that a bridge is notified of. `unsupported`: the receiver supports none of their format. */
export type DropCause = Exclude<FrameDrop, 'no_key_frame'> | UndecodableCause | 'load' | 'unsupported';

export interface FrameResult {
  /** The decoded size; null: it was not decoded. */
  readonly source: Size | null;
  /**
   * In the order of the requested shapes; a drop where that shape failed. Empty: no shape was requested, or the frame was not
   * decoded.
   */
  readonly pictures: readonly (Picture | FrameDrop)[];
  /** Reason why the frame was not decoded; null: it was. */
  readonly drop: FrameDrop | null;
  readonly cause?: UndecodableCause;
  /** True: the source has to continue with a key frame. */
  readonly keyFrameWanted: boolean;
  readonly rebuilds: number;
  readonly workMs: number;
}

/**
 * Counted results of the frames of calls. `encoded`: pictures sent; `passed`: video forwarded unchanged; `audio`: sound packets
 * forwarded unchanged; `transcoded`: sound packets encoded in the receiver's format. Dropped frames: `slow_leg`: the receiver
 * was too slow; `paced`: above the frame rate; `load`: no worker had time; `unsupported`: no worker can convert it for the
 * receiver; `no_receiver`: no receiver was connected.
 */
export const mediaFrameResults = [
  'encoded',
  'passed',
  'audio',
  'transcoded',
  ...frameDrops,
  'slow_leg',
  'paced',
  'load',
  'unsupported',
  'no_receiver',
] as const;
export type MediaFrameResult = (typeof mediaFrameResults)[number];

/** Reasons why a call cannot be carried. `load`: the workers have no time left; `engine`: this machine has no decoder. */
export const reservationRefusals = ['load', 'engine'] as const;
export type ReservationRefusal = (typeof reservationRefusals)[number];
