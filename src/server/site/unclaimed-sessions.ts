/**
 * Sessions of the core before this one. Edges bring those that they still hold; the rest end as lost with their node. Source:
 * scale-out.md, Edges.
 */
import type { Cancel } from '../../lib/clock.ts';
import { edgesBringMsMax } from './site-limits.ts';
import { endOpenSessions, type GoesOn } from '../bootstrap/records.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

type Parts = Pick<ServerContext, 'clock' | 'directory' | 'records' | 'unclaimed' | 'deviceReview' | 'log'>;

/** Controllers were connected to the core before this one, and reconnect. */
export const mayBeBrought: GoesOn = (_session, _deviceId, connection) => connection === 'sleep';

/** Before edges can connect. Those that are not brought in time end. */
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
  const staysAsItIs: GoesOn = (session, deviceId, connection) =>
    connection === 'signal' ||
    directory.find(deviceId)?.session('sleep') === session ||
    // A login that is not committed yet has replaced it.
    directory.readRecord('sleep', deviceId).openSession !== session;
  // The registry may have changed while the core was away.
  deviceReview.begin();
  try {
    await endOpenSessions({ records, log }, staysAsItIs);
  } catch (error) {
    log.error({ err: error }, 'sessions that no edge has brought cannot be ended: the store is unreadable');
  }
}
