/**
 * Sessions of the core before this one. Edges bring those that they still hold; the rest end as lost with their node. Source:
 * scale-out.md, Edges.
 */
import type { Cancel } from '../../lib/clock.ts';
import { connectionKinds } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { edgesBringMsMax } from './site-limits.ts';
import { endOpenSessions } from '../bootstrap/records.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

type Parts = Pick<ServerContext, 'clock' | 'directory' | 'records' | 'log'>;

/** Ends them once the edges have had their time. */
export function endUnclaimedLater(parts: Parts): Cancel {
  return parts.clock.after(edgesBringMsMax, () => void endUnclaimed(parts));
}

async function endUnclaimed({ directory, records, log }: Parts): Promise<void> {
  const isHere = (session: SessionId, deviceId: DeviceId): boolean => {
    const actor = directory.find(deviceId);
    return connectionKinds.some((kind) => actor?.session(kind) === session);
  };
  try {
    await endOpenSessions({ records, log }, isHere);
  } catch (error) {
    log.error({ err: error }, 'sessions that no edge has brought cannot be ended: the store is unreadable');
  }
}
