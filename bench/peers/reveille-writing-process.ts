/**
 * The server of `reveille serve`, in a process that also appends events to its log at a fixed rate. Logins or calls that cause as
 * many events would cost more than the events, which are what is measured.
 */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openLog } from '../../src/server/bootstrap/logging.ts';
import { startServer } from '../../src/server/bootstrap/server.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import { answerQuestions } from '../harness/ipc.ts';
import { markedEvent, requestIdOf, type EventSourceProtocol } from '../load/marked-events.ts';
import { Pace } from '../load/pace.ts';

const settings = loadSettings({ env: process.env });
const { log, announce } = openLog(settings.log);
const server = await startServer(settings, { clock: new SystemClock(), log });
const { events, calls } = server.records;

let written = 0;
let devicesInTurn = 1;
let pace: Pace | null = null;

function append(): void {
  const event = markedEvent(written, devicesInTurn);
  calls.write(event.deviceId, [], event);
  written += 1;
}

/** The log is ordered: when one more event is committed, all earlier ones are. */
function appendAndAwait(): Promise<void> {
  return new Promise((resolve) => {
    const last = requestIdOf(written);
    const stop = events.follow((batch) => {
      const isCommitted = batch.some(({ data }) => 'request_id' in data && data.request_id === last);
      if (!isCommitted) return;
      stop();
      resolve();
    });
    append();
  });
}

answerQuestions<EventSourceProtocol>({
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
});
announce({ listeners: server.listeners }, 'ready');
