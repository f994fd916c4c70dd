/**
 * The media process of a server on the same machine, which starts it with the link at descriptor 3. It ends with the
 * link, and by no signal that whoever stops a service sends to all of its processes: the server sees to the order.
 * Source: running.md, Stopping.
 */
import { Socket } from 'node:net';
import { messageOf } from '../base/error-message.ts';
import { SystemClock } from '../base/system-clock.ts';
import { MediaEnd } from '../media-link/media-end.ts';
import { TranscoderLanes } from '../workers/transcoder-lanes.ts';
import { startMediaServer, type RunningMediaServer } from './media-server.ts';

const linkDescriptor = 3;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const clock = new SystemClock();
let server: RunningMediaServer | null = null;
const link = new Socket({ fd: linkDescriptor });
const end = new MediaEnd(link, { clock, isSpare: true, onEnd: () => void leave() });
const { log } = end;

/** When the server is gone without a word, its legs are still sent away in order. */
async function leave(): Promise<void> {
  await server?.drain();
  vanish();
}

/** A thread may be in native code, where an exit waits for it or aborts; nothing of ours is left to be done. */
function vanish(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** The link ends behind the sentence, and with it the process. */
function die(sentence: string): void {
  log.error({}, sentence);
  void end.end();
}

try {
  const settings = await end.started();
  if (settings === null) throw new Error('the server sent no settings');
  server = await startMediaServer(settings, {
    clock,
    log,
    end,
    openTranscoders: (workers) => TranscoderLanes.open({ ...workers, clock, log, onWedged: die }),
  });
} catch (error) {
  end.failed(messageOf(error));
  await end.end();
}
