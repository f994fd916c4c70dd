/** The sessions of this node, as their ownership asks for them. */
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { LiveSessions } from '../../cluster/ownership/live-sessions.ts';
import type { SharedEpochOf } from '../../cluster/events/outbox-changes.ts';

/** `directory` is asked when a session is. */
export function liveSessions(directory: () => DeviceDirectory): LiveSessions {
  return {
    find(deviceId, connection) {
      const actor = directory().find(deviceId);
      if (actor === null) return null;
      const session = actor.session(connection);
      const heartbeatAt = actor.heartbeatAt(connection);
      return session === null ? null : { session, heartbeatAt };
    },
  };
}

/** What was noted of a session before all knew it is told by the epoch that all know. */
export function sharedEpochs(directory: () => DeviceDirectory): SharedEpochOf {
  return (deviceId, localEpoch) => {
    const actor = directory().find(deviceId);
    return actor?.epoch('sleep') === localEpoch ? actor.toldEpoch('sleep') : localEpoch;
  };
}
