/**
 * The transcoder of one direction of a call's sound: takes a packet, returns packets of 20 ms for every target, synchronously, and owns
 * the native objects for it. It runs on one thread and receives its packets as they arrive. Source: calls-and-media.md, The media
 * process and Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import {
  isCarried,
  isSameSound,
  type SampleShape,
  type SoundPacket,
  type SoundResult,
  type SoundShape,
} from '../../model/media/sound.ts';
import { describeSound, type SoundSource } from '../sound/sound-source.ts';
import { type SoundBlock, SoundTimeline } from '../sound/sound-timeline.ts';
import type { Engine } from './engine.ts';
import { openSoundDecoder, type SoundDecoder } from './sound-decoder.ts';
import { SoundOutput } from './sound-output.ts';

/** Built for one source; another source needs a new chain. */
interface SourceChain {
  readonly source: SoundSource;
  readonly decoder: SoundDecoder;
  readonly timeline: SoundTimeline;
  /** One for each target of the last packet that can be encoded. */
  outputs: SoundOutput[];
}

type Answer = Pick<SoundResult, 'packets' | 'drop'>;
const undecodable: Answer = { packets: [], drop: 'undecodable' };
const rebuildFailed: Answer = { packets: [], drop: 'rebuild_failed' };

export class PacketTranscoder {
  readonly #engine: Engine | null;
  readonly #clock: Clock;
  #chain: SourceChain | null = null;
  /** Chains built so far; the first is not a rebuild. */
  #builds = 0;

  /** `engine`: null allows A-law and PCM of one rate only. */
  constructor(engine: Engine | null, clock: Clock = new SystemClock()) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** Returns a result for any payload. */
  transcode(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): SoundResult {
    const startMs = this.#clock.monotonicMs();
    const buildsBefore = Math.max(1, this.#builds);
    const { packets, drop } = this.#answer(packet, assumed, targets);
    return {
      packets,
      drop,
      rebuilds: Math.max(0, this.#builds - buildsBefore),
      workMs: this.#clock.monotonicMs() - startMs,
    };
  }

  close(): void {
    this.#chain?.decoder.close();
    for (const output of this.#chain?.outputs ?? []) output.close();
    this.#chain = null;
  }

  #answer(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Answer {
    const source = describeSound(packet, assumed, this.#chain?.source ?? null);
    if (source === null) return undecodable;
    const chain = this.#chainOf(source);
    if (chain === null) return rebuildFailed;
    const blocks = decodeBlocks(chain, packet);
    if (blocks === null) return undecodable;
    this.#fit(chain, targets);
    const outputs = targets.map((target) => outputTo(target, chain.outputs));
    return {
      packets: outputs.map((output) => output?.make(blocks) ?? []),
      drop: outputs.includes(undefined) ? 'rebuild_failed' : null,
    };
  }

  /** Null: no decoder can be opened; the next packet retries. */
  #chainOf(source: SoundSource): SourceChain | null {
    if (this.#chain !== null && isSameSound(this.#chain.source, source)) return this.#chain;
    this.close();
    try {
      const decoder = openSoundDecoder(this.#engine, source);
      this.#builds += 1;
      this.#chain = { source, decoder, timeline: new SoundTimeline(source), outputs: [] };
    } catch {
      // The result of the packet reports it.
    }
    return this.#chain;
  }

  /** Closes the outputs of targets that are no longer requested, and opens new ones; the next packet retries those that fail. */
  #fit(chain: SourceChain, targets: readonly SoundShape[]): void {
    const known = chain.outputs;
    chain.outputs = [];
    for (const target of targets) {
      if (outputTo(target, chain.outputs) !== undefined) continue;
      const output = outputTo(target, known) ?? this.#openOutput(chain.source, target);
      if (output !== null) chain.outputs.push(output);
    }
    for (const output of known) if (!chain.outputs.includes(output)) output.close();
  }

  #openOutput(source: SoundSource, target: SoundShape): SoundOutput | null {
    if (!isCarried(target)) return null;
    try {
      return new SoundOutput(this.#engine, source, target);
    } catch {
      return null;
    }
  }
}

/** Empty for a packet out of order. Null: the packet is broken. */
function decodeBlocks({ decoder, timeline }: SourceChain, packet: SoundPacket): SoundBlock[] | null {
  if (timeline.isOutOfTurn(packet.timestampMs)) return [];
  if (timeline.isJump(packet.timestampMs)) decoder.reset?.();
  const samples = decoder.decode(packet.payload);
  return samples && timeline.push(packet.timestampMs, samples);
}

function outputTo(target: SoundShape, outputs: readonly SoundOutput[]): SoundOutput | undefined {
  return outputs.find((output) => isSameSound(output.target, target));
}
