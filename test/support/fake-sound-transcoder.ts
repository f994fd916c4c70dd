/**
 * A transcoder of sound without an engine: a packet lies with it until the test answers it. What is made of a packet is text
 * that says of which payload it was made, and as what.
 */
import assert from 'node:assert/strict';
import type { SampleShape, SoundPacket, SoundResult, SoundShape } from '../../src/model/media/sound.ts';
import type { SoundTranscoder } from '../../src/core/ports/transcoders.ts';

interface TakenSound {
  readonly packet: SoundPacket;
  readonly assumed: SampleShape;
  readonly targets: readonly SoundShape[];
}

export class FakeSoundTranscoder implements SoundTranscoder {
  readonly taken: TakenSound[] = [];
  isClosed = false;
  #answer: ((result: SoundResult) => void) | null = null;

  get isWorking(): boolean {
    return this.#answer !== null;
  }

  take(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Promise<SoundResult> {
    assert.ok(!this.isClosed, 'nothing is asked of a transcoder that is closed');
    assert.ok(!this.isWorking, 'one packet at a time');
    this.taken.push({ packet, assumed, targets });
    return new Promise((resolve) => (this.#answer = resolve));
  }

  close(): void {
    assert.ok(!this.isClosed, 'a transcoder is closed once');
    this.isClosed = true;
  }

  /** The packet that it has: one made for each target, but for what is said here. */
  async answer(result: Partial<SoundResult> = {}): Promise<void> {
    const [answer, taken] = [this.#answer, this.taken.at(-1)];
    assert.ok(answer !== null && taken !== undefined, 'no packet is being worked on');
    this.#answer = null;
    const packets = taken.targets.map((target) => [madeOf(taken.packet, target)]);
    const done: SoundResult = { packets, drop: null, rebuilds: 0, workMs: 1 };
    answer({ ...done, ...(typeof result.drop === 'string' ? { packets: [] } : {}), ...result });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** `atMs`: left out: as of its source. */
export function madeOf({ payload, timestampMs }: SoundPacket, target: SoundShape, atMs = timestampMs) {
  const { format, rate, channels } = target;
  const text = `${format} ${rate}/${channels} of ${Buffer.from(payload).toString()}`;
  return { timestampMs: atMs, payload: new TextEncoder().encode(text) };
}
