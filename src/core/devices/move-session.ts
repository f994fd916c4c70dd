/**
 * Sleep sessions that change their process and stay what they are: the same session, the same epoch, and nobody is told.
 * Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import type { Clock } from '../../lib/clock.ts';
import type { MovedSession, SessionTicket, SleepConnection } from '../ports/device-sessions.ts';
import type { DeviceDirectory } from './device-directory.ts';

/** Null: the session is over, or another one's connection has the device. */
export function describeSession(
  directory: DeviceDirectory,
  { deviceId, sessionId }: SessionTicket,
): MovedSession | null {
  const actor = directory.find(deviceId);
  return actor?.session('sleep') === sessionId ? actor.describeSleep() : null;
}

/**
 * The session is this connection's. Null, and nothing has changed: by the store it is over. Throws when the store cannot be
 * read.
 */
export function adoptSession(
  { directory, clock }: { readonly directory: DeviceDirectory; readonly clock: Clock },
  moved: MovedSession,
  connection: SleepConnection,
): SessionTicket | null {
  const { deviceId, sessionId } = moved;
  const actor = directory.claim(deviceId);
  const epoch = actor.adoptSleep(moved, connection, clock.monotonicMs());
  return epoch === null ? null : { deviceId, sessionId, epoch };
}
