/**
 * A simulated bridge plays to its call as if from a phone, in real time: a film, coded as frames, and a tone in packets of
 * 20 ms. A frame that is late delays none behind it, and one whose time has passed is left out.
 * Source: calls-and-media.md, Legs.
 */
import type { Clock, Cancel } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import { mediaMessageBytesMax } from '../../model/limits.ts';
import { encodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import type { Film } from './test-picture.ts';
import type { FrameCoder } from './frame-coder.ts';
import type { Tone } from './tone.ts';

/** A leg, as far as frames leave by it. */
export interface FrameSink {
  frame(bytes: Uint8Array): void;
  /** Bytes that wait for a listener that does not keep up. */
  readonly bufferedBytes: number;
}

export interface FilmShow {
  readonly film: Film;
  readonly coder: Pick<FrameCoder, 'format' | 'code' | 'close'>;
  readonly framesPerSecond: number;
  /** By the time that has been played, in milliseconds. */
  readonly sizeAt: (atMs: number) => Size;
}

/** Counts of the frames and packets that were played; they continue over the calls of a bridge. */
export class PlaybackTally {
  frames = 0;
  keyFrames = 0;
  audioPackets = 0;
  /** Headers included. */
  bytes = 0;
  /** Frames that were not made: their time had passed, the listener did not keep up, or nothing came of them. */
  skipped = 0;
  /** Size of the last frame; null: none yet. */
  size: Size | null = null;
}

/** Frames wait no further than this for a listener that does not keep up. */
const waitingBytesMax = mediaMessageBytesMax;

export class BridgePlayback {
  readonly #sendQueue: FrameSink;
  readonly #tally: PlaybackTally;
  readonly #metronomes: Metronome[] = [];
  readonly #film: FilmShow | null;
  readonly #tone: Tone | null;
  #wantsKeyFrame = true;

  /** Begins at once. `film`, `tone`: null: no video, or no audio, is played. */
  constructor(
    clock: Clock,
    { film, tone }: { readonly film: FilmShow | null; readonly tone: Tone | null },
    sendQueue: FrameSink,
    tally: PlaybackTally,
  ) {
    this.#sendQueue = sendQueue;
    this.#tally = tally;
    this.#film = film;
    this.#tone = tone;
    const play = (perSecond: number, tick: Tick): unknown =>
      this.#metronomes.push(new Metronome(clock, perSecond, tick));
    if (film !== null) play(film.framesPerSecond, (atMs, missed) => this.#frame(film, atMs, missed));
    if (tone !== null) play(packetsPerSecond, (atMs) => this.#sound(tone, atMs));
  }

  /** The next frame is one. */
  wantKeyFrame(): void {
    this.#wantsKeyFrame = true;
  }

  /** Frees film, coder and tone: nothing is asked of it any more. */
  stop(): void {
    for (const metronome of this.#metronomes) metronome.stop();
    this.#film?.film.close();
    this.#film?.coder.close();
    this.#tone?.close();
  }

  #frame({ film, coder, sizeAt }: FilmShow, atMs: number, missed: number): void {
    this.#tally.skipped += missed;
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

  /** The next frame must not build on one that was never sent. */
  #skip(): void {
    this.#tally.skipped += 1;
    this.#wantsKeyFrame = true;
  }

  #sound(tone: Tone, atMs: number): void {
    const packet = tone.packetAt(atMs);
    if (packet === null) return;
    this.#send({ kind: 'audio', format: tone.format, timestampMs: wireTimestamp(atMs) }, packet);
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

const packetsPerSecond = 50;
/** A share of a tick: moments are sums of binary fractions. */
const tolerance = 1e-6;

/** `atMs`: its moment since the first one, which comes as soon as the caller is done; `missed`: ticks left out before it. */
type Tick = (atMs: number, missed: number) => void;

class Metronome {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #tick: Tick;
  readonly #startedMs: number;
  #cancel: Cancel;
  #isStopped = false;
  /** Number of the last tick; the first is 0. */
  #number = -1;

  constructor(clock: Clock, perSecond: number, tick: Tick) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#tick = tick;
    this.#startedMs = clock.monotonicMs();
    this.#cancel = clock.after(0, () => this.#wake());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** A timer may come a little early: then nothing is due yet. */
  #wake(): void {
    const elapsedMs = this.#clock.monotonicMs() - this.#startedMs;
    const number = Math.floor((elapsedMs * this.#perSecond) / 1000 + tolerance);
    if (number > this.#number) {
      const missed = number - this.#number - 1;
      this.#number = number;
      this.#tick(this.#momentOf(number), missed);
    }
    if (this.#isStopped) return;
    const nextMs = this.#startedMs + this.#momentOf(this.#number + 1);
    this.#cancel = this.#clock.after(Math.max(0, nextMs - this.#clock.monotonicMs()), () => this.#wake());
  }

  #momentOf(number: number): number {
    return (number * 1000) / this.#perSecond;
  }
}
