/**
 * Our server as `reveille serve` starts it, in a process that also appends events to its log at a fixed rate: what
 * would cause so many, logins or calls, would cost more than writing them does, and is not what is measured.
 */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openLog } from '../../src/server/bootstrap/logging.ts';
import { startServer } from '../../src/server/bootstrap/server.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import { eventSourceService, type WriterProtocol } from '../load/event-source-protocol.ts';
import { answerQuestions } from '../load/ipc.ts';
import { isMarked, markedEvent } from '../load/marked-events.ts';
import { Pace } from '../load/pace.ts';
import { monotonicMs } from '../load/peer-protocol.ts';

const settings = loadSettings({ env: process.env });
const { log, announce } = openLog(settings.log);
const server = await startServer(settings, { clock: new SystemClock(), log, handle: null });
const { events, calls } = server.records;

let written = 0;
let devicesInTurn = 1;
let pace: Pace | null = null;

function append(): void {
  const event = markedEvent(written, devicesInTurn);
  calls.write(event.deviceId, [], event);
  written += 1;
}

/** The log is in order: when one more is committed, all before it are. */
function appendAndAwait(): Promise<void> {
  return new Promise((resolve) => {
    const number = written;
    const stop = events.follow((batch) => {
      if (!batch.some((event) => isMarked(event, number))) return;
      stop();
      resolve();
    });
    append();
  });
}

answerQuestions<WriterProtocol>(eventSourceService, {
  write: ({ devices, ratePerSecond }) => {
    devicesInTurn = devices;
    pace = new Pace(ratePerSecond, append);
    return null;
  },
  rest: async () => {
    pace?.stop();
    await appendAndAwait();
    return written;
  },
  head: () => ({ head: events.head, atMs: monotonicMs() }),
});
announce({ listeners: server.listeners }, 'ready');
