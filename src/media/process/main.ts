/**
 * The media process of a server on the same machine, which starts it with the link at descriptor 3. It ends with the
 * link, and by no signal that whoever stops a service sends to all of its processes: the server sees to the order.
 * Source: running.md, Stopping.
 */
import { Socket } from 'node:net';
import { messageOf } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { MediaEnd } from '../link/media-end.ts';
import { TranscoderPool } from '../transcoding/transcoder-pool.ts';
import { closeInherited } from './inherited-descriptors.ts';
import { startMediaServer, type RunningMediaServer } from './media-server.ts';

const linkDescriptor = 3;

// Nobody reads it any more when the server has died first.
process.stderr.on('error', () => undefined);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const clock = new SystemClock();
let server: RunningMediaServer | null = null;
const link = new Socket({ fd: linkDescriptor });
const end = new MediaEnd(link, { clock, isSpare: true, onEnd: (fault) => void leave(fault) });
const { log } = end;

/** When the server is gone without a word, its legs are still sent away in order. */
async function leave(fault: string | null): Promise<void> {
  if (fault !== null) lastWords(fault);
  await server?.drain();
  vanish();
}

/** A thread may be in native code, where an exit waits for it or aborts; nothing of ours is left to be done. */
function vanish(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Why this process ends, for the server's log: the link is gone by now, or may not bring it. */
function lastWords(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

/** The link ends behind the sentence, and with it the process. */
function die(sentence: string): void {
  log.error({}, sentence);
  lastWords(sentence);
  void end.end();
}

try {
  closeInherited();
  const settings = await end.started();
  if (settings === null) throw new Error('the server sent no settings');
  server = await startMediaServer(settings, {
    clock,
    log,
    end,
    openTranscoders: (workers) => TranscoderPool.open({ ...workers, clock, log, onWedged: die }),
  });
} catch (error) {
  const sentence = messageOf(error);
  // A spare has nobody yet who reads its link.
  lastWords(sentence);
  end.failed(sentence);
  await end.end();
}
