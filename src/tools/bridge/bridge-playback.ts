/**
 * Plays a film, as coded frames, and a tone, in packets of 20 ms, to a call in real time. A late frame does not delay later
 * ones, and a frame whose time has passed is skipped.
 * Source: calls-and-media.md, Legs.
 */
import type { Clock, Cancel } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import { mediaMessageBytesMax } from '../../model/limits.ts';
import { encodeFrameHeader, type FrameHeader } from '../../protocol/media/frame-header.ts';
import type { Film } from './test-picture.ts';
import type { FrameCoder } from './frame-coder.ts';
import type { Tone } from './tone.ts';

export interface FrameSink {
  frame(bytes: Uint8Array): void;
  /** Bytes that are not yet sent, because the listener reads too slowly. */
  readonly bufferedBytes: number;
}

export interface FilmShow {
  readonly film: Film;
  readonly coder: Pick<FrameCoder, 'format' | 'code' | 'close'>;
  readonly framesPerSecond: number;
  /** Size at a playback position, in milliseconds. */
  readonly sizeAt: (atMs: number) => Size;
}

/** Counters of played frames and packets, over all calls of a bridge. */
export class PlaybackTally {
  frames = 0;
  keyFrames = 0;
  audioPackets = 0;
  /** Including headers. */
  bytes = 0;
  /** Frames that were not sent: late, held back by a slow listener, or not encodable. */
  skipped = 0;
  /** Size of the latest frame; null: none yet. */
  size: Size | null = null;
}

/** Maximum unsent bytes; beyond it frames are skipped. */
const waitingBytesMax = mediaMessageBytesMax;

export class BridgePlayback {
  readonly #sendQueue: FrameSink;
  readonly #tally: PlaybackTally;
  readonly #metronomes: Metronome[] = [];
  readonly #film: FilmShow | null;
  readonly #tone: Tone | null;
  #wantsKeyFrame = true;

  /** Starts at once. `film` null: no video; `tone` null: no audio. */
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

  wantKeyFrame(): void {
    this.#wantsKeyFrame = true;
  }

  /** Stops, and frees film, coder and tone. */
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

  /** The next frame must be a key frame: it cannot refer to one that was not sent. */
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
/** Share of a tick, for rounding errors. */
const tolerance = 1e-6;

/** `atMs`: time since the first tick, which is asynchronous; `missed`: ticks skipped before this one. */
type Tick = (atMs: number, missed: number) => void;

class Metronome {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #tick: Tick;
  readonly #startedMs: number;
  #cancel: Cancel;
  #isStopped = false;
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

  /** A timer may fire early: then no tick is due yet. */
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
