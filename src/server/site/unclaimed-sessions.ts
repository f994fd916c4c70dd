/**
 * Sessions of the previous core. Edges resume those that they still hold; the rest end as `node_lost`. Source: scale-out.md, Edges.
 */
import type { Cancel } from '../../lib/clock.ts';
import { edgesBringMsMax } from './site-limits.ts';
import { endOpenSessions, type IsContinued } from '../bootstrap/records.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

type Parts = Pick<ServerContext, 'clock' | 'directory' | 'records' | 'unclaimed' | 'deviceReview' | 'log'>;

/** Sleep sessions only: controllers were connected to the previous core, and reconnect. */
export const mayBeBrought: IsContinued = (_session, _deviceId, connection) => connection === 'sleep';

/** Call before edges can connect. Sessions that no edge resumes in time end. */
export function awaitSessions(parts: Parts): Cancel {
  const { clock, records, unclaimed } = parts;
  const cancel = clock.after(edgesBringMsMax, () => unclaimed.end());
  unclaimed.begin(records.sleep.openCount, () => {
    cancel();
    void endUnclaimed(parts);
  });
  return cancel;
}

async function endUnclaimed({ directory, records, deviceReview, log }: Parts): Promise<void> {
  const staysAsItIs: IsContinued = (session, deviceId, connection) =>
    connection === 'signal' ||
    directory.find(deviceId)?.session('sleep') === session ||
    // A login, not committed yet, has replaced it.
    directory.readRecord('sleep', deviceId).openSession !== session;
  // The registry may have changed while the core was away.
  deviceReview.begin();
  try {
    await endOpenSessions({ records, log }, staysAsItIs);
  } catch (error) {
    log.error({ err: error }, 'sessions: unclaimed ones cannot be closed: store unreadable');
  }
}
