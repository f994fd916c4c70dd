/**
 * The media process of the soak: put together as the server's own, with one more ear: it tells what is alive in its workers
 * when it is asked. As a canary its workers leak.
 */
import { Socket } from 'node:net';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { MediaEnd } from '../../src/media/link/media-end.ts';
import { startMediaServer } from '../../src/media/process/media-server.ts';
import { TranscoderPool } from '../../src/media/transcoding/transcoder-pool.ts';
import { leakVariable, type MediaSample } from './media-question.ts';

const linkDescriptor = 3;
const leakingWorker = new URL('./media-leaking-worker.ts', import.meta.url);

const clock = new SystemClock();
const end = new MediaEnd(new Socket({ fd: linkDescriptor }), { clock, onEnd: () => process.exit(0) });
const { log } = end;
let pool: TranscoderPool | null = null;

process.on('SIGINT', () => undefined);
process.on('message', () => void answer());

async function answer(): Promise<void> {
  const sample: MediaSample = { natives: (await pool?.countNatives()) ?? [] };
  process.send?.(sample);
}

function die(sentence: string): void {
  console.error(sentence);
  process.kill(process.pid, 'SIGKILL');
}

const settings = await end.started();
if (settings === null) throw new Error('the server sent no settings');
await startMediaServer(settings, {
  clock,
  log,
  end,
  openTranscoders: async (workers) => {
    const leaks = process.env[leakVariable] !== undefined && { workerFile: leakingWorker };
    pool = await TranscoderPool.open({ ...workers, clock, log, onWedged: die, ...leaks });
    return pool;
  },
});
