/** The session locator over the committed rows of this store. Source: cluster.md. */
import { neverShared } from '../../model/state/shared-connection.ts';
import type { DeviceRow } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { SessionLocator } from '../../core/ports/session-locator.ts';
import { findSharedConnection } from './connection-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export class StoredSessionLocator implements SessionLocator {
  readonly #state: StateTables;

  constructor(state: StateTables) {
    this.#state = state;
  }

  /** At hand, and as new as what another process has just committed. Throws when the store cannot be read. */
  find(deviceId: DeviceId): DeviceRow {
    const { environment, connections } = this.#state;
    environment.refresh();
    return {
      sleep: findSharedConnection(connections.sleep, deviceId) ?? neverShared,
      signal: findSharedConnection(connections.signal, deviceId) ?? neverShared,
    };
  }

  findKept(deviceId: DeviceId): DeviceRow {
    return this.find(deviceId);
  }
}
