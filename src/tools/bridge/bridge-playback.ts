/**
 * What a simulated bridge plays to its call, as if it came from the phone: a film, coded as frames, and a tone, each in
 * real time. Where it is to go, and how a call comes to this, is the caller's affair. Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import { mediaMessageBytesMax } from '../../model/limits.ts';
import { encodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import type { Film } from './film.ts';
import type { FrameCoder } from './frame-coder.ts';
import { Metronome } from '../simulator/metronome.ts';
import { packetsPerSecond, tonePacket } from './tone-packets.ts';

/** A leg, as far as frames leave by it. */
export interface FrameSink {
  frame(bytes: Uint8Array): void;
  /** Bytes that wait for a listener that does not keep up. */
  readonly bufferedBytes: number;
}

export interface FilmShow {
  readonly film: Film;
  readonly coder: FrameCoder;
  readonly framesPerSecond: number;
  /** By the time that has been played, in milliseconds. */
  readonly sizeAt: (atMs: number) => Size;
}

export interface ToneShow {
  /** Samples a second of each channel. */
  readonly rate: number;
  readonly channels: number;
}

/** What was played; counts go on over the calls of a bridge. */
export interface PlaybackTally {
  frames: number;
  keyFrames: number;
  audioPackets: number;
  /** Headers included. */
  bytes: number;
  /** Frames that were not made: their time had passed, the listener did not keep up, or nothing came of them. */
  skipped: number;
  /** Of the last frame; null: none yet. */
  size: Size | null;
}

export function noPlaybackTally(): PlaybackTally {
  return { frames: 0, keyFrames: 0, audioPackets: 0, bytes: 0, skipped: 0, size: null };
}

/** Frames wait no further than this for a listener that does not keep up. */
const waitingBytesMax = mediaMessageBytesMax;

export class BridgePlayback {
  readonly #sendQueue: FrameSink;
  readonly #tally: PlaybackTally;
  readonly #metronomes: Metronome[] = [];
  readonly #film: FilmShow | null;
  #wantsKeyFrame = true;

  /** Begins at once. `film`, `tone`: null: no video, or no audio, is played. */
  constructor(
    clock: Clock,
    { film, tone }: { readonly film: FilmShow | null; readonly tone: ToneShow | null },
    sendQueue: FrameSink,
    tally: PlaybackTally,
  ) {
    this.#sendQueue = sendQueue;
    this.#tally = tally;
    this.#film = film;
    if (film !== null) this.#metronomes.push(this.#show(clock, film));
    if (tone !== null)
      this.#metronomes.push(new Metronome(clock, packetsPerSecond, (atMs) => this.#sound(tone, atMs)));
  }

  /** The next frame is one. */
  wantKeyFrame(): void {
    this.#wantsKeyFrame = true;
  }

  /** Frees film and coder: nothing is asked of it any more. */
  stop(): void {
    for (const metronome of this.#metronomes) metronome.stop();
    this.#film?.film.close();
    this.#film?.coder.close();
  }

  #show(clock: Clock, show: FilmShow): Metronome {
    let missed = 0;
    const metronome: Metronome = new Metronome(clock, show.framesPerSecond, (atMs) => {
      this.#tally.skipped += metronome.missed - missed;
      missed = metronome.missed;
      this.#frame(show, atMs);
    });
    return metronome;
  }

  #frame({ film, coder, sizeAt }: FilmShow, atMs: number): void {
    if (this.#sendQueue.bufferedBytes > waitingBytesMax) return this.#skip();
    const size = sizeAt(atMs);
    const coded = coder.code(film.pictureAt(atMs, size), size, this.#wantsKeyFrame);
    if (coded === null) return this.#skip();
    const { isKeyFrame, payload } = coded;
    this.#wantsKeyFrame = false;
    const timestampMs = wireTimestamp(atMs);
    this.#send({ kind: 'video', format: coder.format, isKeyFrame, ...size, timestampMs }, payload);
    this.#tally.frames += 1;
    this.#tally.keyFrames += isKeyFrame ? 1 : 0;
    this.#tally.size = size;
  }

  /** What comes next must not build on what was never sent. */
  #skip(): void {
    this.#tally.skipped += 1;
    this.#wantsKeyFrame = true;
  }

  #sound({ rate, channels }: ToneShow, atMs: number): void {
    const header = { kind: 'audio', format: 'alaw', timestampMs: wireTimestamp(atMs) } as const;
    this.#send(header, tonePacket(atMs, rate, channels));
    this.#tally.audioPackets += 1;
  }

  #send(header: FrameHeader, payload: Uint8Array): void {
    const message = Buffer.concat([encodeFrameHeader(header), payload]);
    this.#tally.bytes += message.length;
    this.#sendQueue.frame(message);
  }
}

function wireTimestamp(atMs: number): number {
  return Math.round(atMs) % 2 ** 32;
}
