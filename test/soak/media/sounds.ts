/** Audio of the soak's legs: one second of a tone in each format, repeated, and its detection. */
import { assert } from '../../../src/lib/assert.ts';
import type { Engine } from '../../../src/media/codec/engine.ts';
import { PacketTranscoder } from '../../../src/media/codec/packet-transcoder.ts';
import type { SoundShape } from '../../../src/model/media/sound.ts';
import { soundBlockMs } from '../../../src/model/media/sound-limits.ts';
import { encodeFrameHeader } from '../../../src/protocol/media/frame-header.ts';
import { openTone } from '../../../src/tools/bridge/tone.ts';
import { findTone, sineLevel } from '../../support/sines.ts';

export const packetsPerSecond = 1000 / soundBlockMs;
const toneHz = 440;
const judged: SoundShape = { format: 'pcm', rate: 16_000, channels: 1 };
/** A decoder's first samples are ignored. */
const settlingMs = 120;
const levelSlack = 0.3;
const noiseDecibelMin = 10;

export interface ReceivedPacket {
  readonly timestampMs: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Contains whole periods of the tone, so that it loops seamlessly. */
export class Sounds {
  readonly #engine: Engine;
  readonly #packets = new Map<string, readonly Uint8Array[]>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  packetAt(shape: SoundShape, ordinal: number): Uint8Array {
    const packets = this.#packetsOf(shape);
    const packet = packets[ordinal % packets.length];
    assert(packet !== undefined, 'there is a packet of every moment');
    return packet;
  }

  /** Returns packet `ordinal` as a message of a leg. */
  messageAt(shape: SoundShape, ordinal: number): Buffer {
    const timestampMs = ordinal * soundBlockMs;
    const header = encodeFrameHeader({ kind: 'audio', format: shape.format, timestampMs });
    return Buffer.concat([header, this.packetAt(shape, ordinal)]);
  }

  /** `packets`: consecutive packets of 20 ms. */
  hasTone(shape: SoundShape, packets: readonly ReceivedPacket[]): boolean {
    const transcoder = new PacketTranscoder(this.#engine);
    const pieces = packets.flatMap(({ timestampMs, payload }) => {
      const packet = { format: shape.format, timestampMs, payload: new Uint8Array(payload) };
      return transcoder.transcode(packet, shape, [judged]).packets[0] ?? [];
    });
    transcoder.close();
    const samples = pieces.flatMap(({ payload }) => [...new Int16Array(payload.buffer)]);
    const settled = Int16Array.from(samples.slice((settlingMs * judged.rate) / 1000));
    const { level, snr } = findTone(settled, judged.rate, toneHz);
    return Math.abs(level / sineLevel - 1) < levelSlack && snr > noiseDecibelMin;
  }

  #packetsOf(shape: SoundShape): readonly Uint8Array[] {
    const key = `${shape.format} ${shape.rate} ${shape.channels}`;
    const known = this.#packets.get(key);
    if (known !== undefined) return known;
    const tone = openTone(this.#engine, shape);
    if (!tone.ok) throw new Error(tone.error);
    const packets = Array.from({ length: packetsPerSecond }, (_, ordinal) => {
      const packet = tone.value.packetAt(ordinal * soundBlockMs);
      assert(packet !== null, 'a tone is encoded');
      return packet;
    });
    tone.value.close();
    this.#packets.set(key, packets);
    return packets;
  }
}
