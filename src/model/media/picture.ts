/**
 * Video of a call as the server speaks of it: frames that come in, pictures that go out, and what becomes of each.
 * Source: calls-and-media.md, Legs and Resolution.
 */
import type { ResolutionMode, Size } from '../call.ts';

/** In the order of their numbers on the wire, from 1. */
export const videoFrameFormats = ['h264', 'h265', 'mjpeg', 'i420'] as const;
export type VideoFrameFormat = (typeof videoFrameFormats)[number];

/** A frame on its way to be decoded. */
export interface SourceFrame {
  readonly format: VideoFrameFormat;
  /** As its header says. */
  readonly isKeyFrame: boolean;
  /** Pixels, as its header says; 0: not said. The payload's own size counts. */
  readonly width: number;
  readonly height: number;
  /** An Annex B access unit, one JPEG, or planes of Y, U and V without padding. Whoever takes the frame owns it. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** `parameters`: what decoders are told beside pictures, and no picture; `nothing`: nothing that is known. */
export type FrameContent = 'picture' | 'parameters' | 'nothing';

/** What a frame tells of itself before it is decoded. */
export interface FrameDescription {
  /** The payload's own; null: it does not tell. */
  readonly size: Size | null;
  /** Decoding can start at it. */
  readonly isKey: boolean;
  /** Of formats whose frames stand alone always `picture`. */
  readonly content: FrameContent;
}

/** What pictures are made as. */
export type PictureFormat = 'mjpeg' | 'h264';

/** What is to be made of a decoded frame. `screen`: null only under `auto`. `format`: JPEGs where it is left out. */
export interface PictureShape {
  readonly mode: ResolutionMode;
  readonly screen: Size | null;
  readonly format?: PictureFormat;
}

/** A finished JPEG, or an Annex B access unit that builds on the one before it of the same shape. */
export interface Picture {
  readonly format: PictureFormat;
  /** Of a JPEG always true. */
  readonly isKey: boolean;
  readonly size: Size;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Why no picture came of a frame. `undecodable`: corrupt; `too_large`: it, or the picture to be made of it, is beyond
 * the largest size; `no_key_frame`: it
 * needs one that is missing; `too_small`: a side of the picture would be 0; `rebuild_failed`: scaler or encoder could not
 * be made; `engine`: the worker that had it is gone; `overdue`: its decoding took longer than it may, or that of one shortly
 * before did.
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

/** Why frames of a bridge are dropped, as it is told. `unsupported`: their receiver takes none of their format. */
export type DropCause = Exclude<FrameDrop, 'no_key_frame'> | UndecodableCause | 'load' | 'unsupported';

/** What came of one frame. */
export interface FrameResult {
  /** The decoded size; null: it was not decoded. */
  readonly source: Size | null;
  /** In the order of the shapes asked for; a drop where this one failed. Empty where none was asked for, or none is decoded. */
  readonly pictures: readonly (Picture | FrameDrop)[];
  /** Why the frame was not decoded at all; null: it was. */
  readonly drop: FrameDrop | null;
  /** Cause of an undecodable frame, where it is known. */
  readonly cause?: UndecodableCause;
  /** The source can only go on from a key frame. */
  readonly keyFrameWanted: boolean;
  /** Scalers and encoders made for it. */
  readonly rebuilds: number;
  /** Milliseconds the worker spent on it. */
  readonly workMs: number;
}

/**
 * What became of the frames of calls, as they are counted. `encoded`: pictures that went out; `passed`: video sent on
 * untouched; `audio`: packets sent on untouched; `transcoded`: packets made anew in the receiver's format; then why a frame
 * went nowhere: `slow_leg`: its receiver did not keep up; `paced`: above the frame rate; `load`: no worker had time to
 * convert it; `unsupported`: nobody can make of it what the receiver takes; `no_receiver`: nobody was there to have it.
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

/** Why a call cannot be carried: the workers have no time left for it, or there is no decoder on this machine. */
export const reservationRefusals = ['load', 'engine'] as const;
export type ReservationRefusal = (typeof reservationRefusals)[number];
