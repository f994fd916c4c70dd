/**
 * The media process of the soak: the server's own, which also answers any message with the number of live objects in its
 * workers. As a canary, with SOAK_LEAKS, its workers leak frames, and it leaks all other counted resources.
 */
import { openSync } from 'node:fs';
import { Socket } from 'node:net';
import { moduleBeside } from '../../../src/lib/module-worker.ts';
import { deferred } from '../../../src/lib/deferred.ts';
import { followParent } from '../../../src/lib/children/parent-end.ts';
import { LoopProgress } from '../../../src/lib/loop-progress.ts';
import { SystemClock } from '../../../src/lib/system-clock.ts';
import type { NativeCensus } from '../../../src/media/codec/native-census.ts';
import type { MediaChildKind } from '../../../src/protocol/media-link/media-values.ts';
import { MediaEnd } from '../../../src/media/link/media-end.ts';
import { startMediaServer } from '../../../src/media/process/media-server.ts';
import { TranscoderPool } from '../../../src/media/transcoding/transcoder-pool.ts';
import { liveConnections, makeConnection, openRtcEngine } from '../../../src/media/webrtc/rtc-engine.ts';

export interface MediaSample {
  /** One census per worker; null: the worker has ended. */
  readonly natives: readonly (NativeCensus | null)[];
  readonly peers: number;
  readonly timers: number;
}

const linkDescriptor = 3;
const leakingWorker = moduleBeside('./leaking-worker', import.meta.url);

const leakedTimerMs = 1000;
const leakedDescriptors = 4;

const clock = new SystemClock();
const leave = (): never => process.exit(0);
const parent = followParent<MediaChildKind>({
  clock,
  release: 'soak',
  progress: new LoopProgress(clock),
  ordered: () => undefined,
  stop: leave,
  orphaned: leave,
});
const isCanary = process.env['SOAK_LEAKS'] !== undefined;
let pool: TranscoderPool | null = null;
const loaded = deferred();

process.on('message', () => void answer());
// Start leaking after the first sample, the baseline without calls.
process.once('message', () => process.once('message', () => isCanary && void leak()));

class SoakedPool extends TranscoderPool {
  override async start(): Promise<void> {
    await super.start();
    loaded.resolve();
  }
}

/** The engine's own timers and descriptors belong to the baseline. */
async function answer(): Promise<void> {
  await loaded.promise;
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
  const sample: MediaSample = {
    natives: (await pool?.countNatives()) ?? [],
    peers: liveConnections(),
    timers: timers.length,
  };
  process.send?.(sample);
}

async function leak(): Promise<void> {
  const engine = await openRtcEngine();
  if (engine.ok) makeConnection(engine.value, { iceServers: [] });
  for (let leaked = 0; leaked < leakedDescriptors; leaked += 1) openSync('/dev/null', 'r');
  clock.every(leakedTimerMs, () => undefined);
}

function die(sentence: string): void {
  console.error(sentence);
  process.kill(process.pid, 'SIGKILL');
}

const settings = await parent.begun;
const end = new MediaEnd({ clock, onEnd: leave });
end.attach(new Socket({ fd: linkDescriptor }));
const { log } = end;
await end.started();
const { address } = await startMediaServer(settings, {
  clock,
  log,
  end,
  newTranscoders: ({ workers: threads, ...limits }) => {
    const leaks = isCanary && { workerFile: leakingWorker };
    pool = new SoakedPool({ ...limits, threads, clock, log, onWedged: die, ...leaks });
    return pool;
  },
});
parent.ready({ port: address.port });
