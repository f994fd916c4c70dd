/** What a packet of sound of 20 ms costs by the usual pairs of formats, on this thread and through a worker. */
import type { Bench } from 'tinybench';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import { TranscoderPool } from '../../src/media/transcoding/transcoder-pool.ts';
import { nameOfPair, soundPairs, speechPackets, type SoundPair } from '../support/speech.ts';

const packetsMade = 500;

export async function register(bench: Bench): Promise<() => Promise<void>> {
  const opened = await openEngine();
  if (!opened.ok) throw new Error(opened.error);
  const transcoders = soundPairs.map((pair) => {
    const transcoder = new PacketTranscoder(opened.value);
    const [next, targets] = [inTurn(speechPackets(opened.value, pair.from, packetsMade)), [pair.to]];
    bench.add(`sound: ${nameOfPair(pair)}`, () => {
      const { timestampMs, payload } = next();
      const packet = { format: pair.from.format, timestampMs, payload };
      expectOne(transcoder.take(packet, pair.from, targets).packets);
    });
    return transcoder;
  });
  const pool = await openPool();
  for (const pair of soundPairs.slice(0, 2))
    addWorker(bench, pool, pair, inTurn(speechPackets(opened.value, pair.from, packetsMade)));
  return async () => {
    for (const transcoder of transcoders) transcoder.close();
    await pool.close();
  };
}

function addWorker(bench: Bench, pool: TranscoderPool, { from, to }: SoundPair, next: () => Packet): void {
  const session = pool.openSound();
  if (!session.ok) throw new Error(session.error);
  bench.add(`sound: through a worker, ${nameOfPair({ from, to })}`, async () => {
    const { timestampMs, payload } = next();
    const { packets } = await session.value.take({ format: from.format, timestampMs, payload }, from, [to]);
    expectOne(packets);
  });
}

function openPool(): Promise<TranscoderPool> {
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  return TranscoderPool.open({
    threads: 1,
    loadMax: 1,
    quality: 80,
    maxFps: 15,
    sourceMax: { width: 1920, height: 1080 },
    clock: new SystemClock(),
    log,
    onWedged: ignore,
  });
}

interface Packet {
  readonly timestampMs: number;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Over and over, on one time line that does not end. */
function inTurn(packets: readonly Uint8Array<ArrayBuffer>[]): () => Packet {
  let index = 0;
  return () => {
    const payload = packets[index % packets.length];
    if (payload === undefined) throw new Error('there is no packet');
    return { timestampMs: index++ * 20, payload };
  };
}

function expectOne(packets: readonly (readonly unknown[])[]): void {
  if (packets[0]?.length !== 1) throw new Error('no packet was made');
}
