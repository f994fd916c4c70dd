/**
 * The sound of one direction of a call: each hearer is sent the packets that are in its format already, and those that a
 * transcoder makes of the others, one at a time and in order. The transcoder is opened for the first packet that needs it.
 * Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import {
  fullBucket,
  spendTokens,
  waitForToken,
  type Rate,
  type TokenBucket,
} from '../../lib/token-bucket.ts';
import type { Transcoders } from '../transcoding/transcoder-pool.ts';
import type { SoundTranscoder } from '../transcoding/transcoder-session.ts';
import { audioBytesWaitingMax } from '../../model/limits.ts';
import { soundBurstMs, soundRetryMsMin, soundShareMax } from '../../model/media/sound-limits.ts';
import type { MediaFrameResult } from '../../model/media/picture.ts';
import {
  encodingOf,
  isSameShape,
  isSameSound,
  type AudioFrameFormat,
  type MadeSound,
  type SampleShape,
  type SoundPacket,
  type SoundResult,
  type SoundShape,
} from '../../model/media/sound.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import { describeSound, type SoundSource } from '../sound/sound-source.ts';
import { AudioQueue } from './media-queues.ts';
import type { OverdueReports } from './overdue-frames.ts';
import type { GoesWithout, SendQueue } from './send-queue.ts';
import type { FrameTally } from './session-stats.ts';

export interface Hearer {
  /** What it takes; `any`: sound as it comes. */
  readonly sound: SoundShape | 'any';
  readonly sendQueue: SendQueue;
  /** Left out: it is not told. */
  readonly goesWithout?: GoesWithout | undefined;
}

/** Milliseconds of a worker. */
const work: Rate = { perSecond: soundShareMax * 1000, burst: soundBurstMs };

interface WaitingSound extends SoundPacket {
  /** Its own, where it tells. */
  readonly assumed: SampleShape;
  /** What becomes of it here is what becomes of the packet. */
  readonly isCounted: boolean;
}

export interface SoundRouteDeps {
  readonly clock: Clock;
  readonly transcoders: Pick<Transcoders, 'openSound' | 'soundEncoders'>;
  readonly tally: FrameTally;
  readonly overdue: OverdueReports;
  /** Now; what became of a packet is what became of it for the first. */
  readonly hearers: () => readonly Hearer[];
}

export class SoundRoute {
  readonly #deps: SoundRouteDeps;
  readonly #waiting: AudioQueue<WaitingSound>;
  /** The last AMR, whose band the next one likely has. */
  #amr: SoundSource | null = null;
  #transcoder: SoundTranscoder | null = null;
  #refusal: 'load' | 'unsupported' = 'load';
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #stage: 'free' | 'working' | 'closed' = 'free';
  /** What it may still take of its worker. */
  readonly #work: TokenBucket;

  constructor(deps: SoundRouteDeps) {
    this.#deps = deps;
    this.#work = fullBucket(work, deps.clock.monotonicMs());
    this.#waiting = new AudioQueue((packet) => this.#lost(packet, 'slow_leg'));
  }

  /**
   * `headerBytes`: with which it is passed on. `otherwise`: its shape where it does not tell. False: nobody hears it, and it is
   * not counted.
   */
  take(packet: SoundPacket, headerBytes: Uint8Array, otherwise: SampleShape): boolean {
    const hearers = this.#deps.hearers();
    if (hearers.length === 0) return false;
    const assumed = this.#shapeOf(packet, otherwise);
    const passing = hearers.filter(({ sound }) => passes(packet, assumed, sound));
    for (const hearer of passing)
      hearer.sendQueue.offerAudio({
        timestampMs: packet.timestampMs,
        payload: packet.payload,
        header: headerBytes,
        done: 'audio',
        isCounted: hearer === hearers[0],
      });
    if (passing.length < hearers.length)
      this.#convert({ ...packet, assumed, isCounted: passing[0] !== hearers[0] });
    return true;
  }

  /** Nothing is made any more. */
  close(): void {
    this.#stage = 'closed';
    for (let packet = this.#waiting.shift(); packet !== undefined; packet = this.#waiting.shift())
      this.#lost(packet, 'no_receiver');
    this.#transcoder?.close();
    this.#transcoder = null;
  }

  /** AMR that cannot be read is taken for what is assumed. */
  #shapeOf(packet: SoundPacket, assumed: SampleShape): SampleShape {
    const told = packet.format === 'amr' ? describeSound(packet, assumed, this.#amr) : null;
    this.#amr = told ?? this.#amr;
    return told ?? assumed;
  }

  #convert(packet: WaitingSound): void {
    if (this.#deps.overdue.isRefused()) return this.#lost(packet, 'overdue');
    if (packet.payload.length > audioBytesWaitingMax) return this.#lost(packet, 'too_large');
    this.#waiting.push(packet);
    this.#takeNext();
  }

  #takeNext(): void {
    while (this.#stage === 'free') {
      const packet = this.#waiting.shift();
      if (packet === undefined) return;
      const hearers = this.#deps.hearers();
      const targets = this.#targetsOf(packet, hearers);
      const transcoder = targets.length === 0 ? noneFor(hearers) : this.#transcoderNow();
      if (typeof transcoder === 'string') this.#loseFor(hearers, packet, transcoder);
      else void this.#transcode(transcoder, packet, targets);
    }
  }

  async #transcode(
    transcoder: SoundTranscoder,
    packet: WaitingSound,
    targets: readonly SoundShape[],
  ): Promise<void> {
    this.#stage = 'working';
    const { format, timestampMs, payload } = packet;
    const result = await transcoder.take({ format, timestampMs, payload }, packet.assumed, targets);
    if (result.drop === 'overdue') this.#deps.overdue.add();
    if (this.#isClosed) return this.#lost(packet, 'no_receiver');
    this.#stage = 'free';
    spendTokens(this.#work, result.workMs);
    this.#deps.tally.rebuilt(result.rebuilds);
    this.#deliver(packet, targets, result);
    this.#takeNext();
  }

  #deliver(packet: WaitingSound, targets: readonly SoundShape[], { packets, drop }: SoundResult): void {
    const hearers = this.#deps.hearers();
    if (hearers.length === 0) this.#lost(packet, 'no_receiver');
    for (const [place, { sound: shape, sendQueue }] of hearers.entries()) {
      const isCounted = packet.isCounted && place === 0;
      const at = targets.findIndex((target) => shape !== 'any' && isSameSound(target, shape));
      const made = packets[at]?.filter(({ timestampMs }) => !sendQueue.hasPassed(timestampMs)) ?? [];
      // What becomes of the first one made is what becomes of the packet.
      for (const [n, sound] of made.entries())
        if (shape !== 'any') sendQueue.offerAudio(outgoing(shape, sound, isCounted && n === 0));
      if (made.length > 0 || !isCounted) continue;
      this.#deps.tally.frame(drop ?? (at === -1 ? 'unsupported' : 'transcoded'));
    }
  }

  /** What is to be made of it, each once. */
  #targetsOf(packet: WaitingSound, hearers: readonly Hearer[]): readonly SoundShape[] {
    const targets: SoundShape[] = [];
    for (const { sound: shape, goesWithout } of hearers) {
      if (shape === 'any' || passes(packet, packet.assumed, shape)) continue;
      const canBeMade = this.#deps.transcoders.soundEncoders.includes(encodingOf(shape));
      if (!canBeMade) goesWithout?.('audio', 'unsupported');
      else if (!targets.some((target) => isSameSound(target, shape))) targets.push(shape);
    }
    return targets;
  }

  /** Who was refused is not asked for again at every packet. */
  #transcoderNow(): SoundTranscoder | 'load' | 'unsupported' {
    const nowMs = this.#deps.clock.monotonicMs();
    if (waitForToken(this.#work, work, nowMs) > 0) return 'load';
    if (this.#transcoder !== null) return this.#transcoder;
    if (nowMs - this.#refusedAtMs < soundRetryMsMin) return this.#refusal;
    const opened = this.#deps.transcoders.openSound();
    if (opened.ok) return (this.#transcoder = opened.value);
    this.#refusedAtMs = nowMs;
    this.#refusal = opened.error === 'load' ? 'load' : 'unsupported';
    return this.#refusal;
  }

  #loseFor(
    hearers: readonly Hearer[],
    packet: WaitingSound,
    why: 'load' | 'unsupported' | 'no_receiver',
  ): void {
    this.#lost(packet, why);
    if (why === 'no_receiver') return;
    for (const { sound, goesWithout } of hearers)
      if (!passes(packet, packet.assumed, sound)) goesWithout?.('audio', why);
  }

  #lost({ isCounted }: WaitingSound, why: MediaFrameResult): void {
    if (isCounted) this.#deps.tally.frame(why);
  }

  get #isClosed(): boolean {
    return this.#stage === 'closed';
  }
}

function noneFor(hearers: readonly Hearer[]): 'no_receiver' | 'unsupported' {
  return hearers.length === 0 ? 'no_receiver' : 'unsupported';
}

/** Whether nothing is to be done to it. */
function passes({ format }: SoundPacket, assumed: SampleShape, shape: SoundShape | 'any'): boolean {
  if (shape === 'any') return true;
  if (format !== shape.format) return false;
  if (format === 'amr') return assumed.rate === shape.rate;
  return format === 'opus' || isSameShape(assumed, shape);
}

/** A-law and PCM are samples alone. */
export function tellsItsShape(format: AudioFrameFormat): boolean {
  return format === 'amr' || format === 'opus';
}

function outgoing({ format }: SoundShape, { timestampMs, payload }: MadeSound, isCounted: boolean) {
  const header = encodeFrameHeader({ kind: 'audio', format, timestampMs });
  return { timestampMs, payload, header, done: 'transcoded', isCounted } as const;
}
