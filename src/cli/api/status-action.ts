/** What `reveille status` does. */
import type { DeviceId } from '../../model/ids.ts';
import {
  describeDevice,
  type DeviceStatus,
  type ObservedConnection,
} from '../../gateways/admin/device-status.ts';
import { findConnectionRecord, type ConnectionTables } from '../../storage/records/connection-rows.ts';
import { openStoreReadOnly, type Store } from '../../storage/lmdb/open-store.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { unknownDevice } from '../admin/device-actions.ts';
import { findOpsClient } from '../admin/ops-client.ts';
import { statusJson, statusText } from './status-view.ts';

/** Throws a CommandError for a device that is not in the registry, a StoreOpenError where there is no store. */
export async function showStatus(context: CommandContext, id: string): Promise<void> {
  const { clock, dataDirectory, output } = context;
  const resting = await readAtRest(dataDirectory, id as DeviceId, clock.wallMs());
  if (resting === null) throw unknownDevice(id);
  const ops = findOpsClient(dataDirectory);
  const source = ops === null ? 'store' : 'server';
  const query = new URLSearchParams({ device_id: id });
  const status = ops === null ? resting : await ops.ask<DeviceStatus>('/v1/device/status', query);
  output.answer(statusJson(status, source), statusText(status, source));
}

/** Null: the registry has no such device. */
async function readAtRest(
  dataDirectory: string,
  deviceId: DeviceId,
  nowMs: number,
): Promise<DeviceStatus | null> {
  const store = openStoreReadOnly(dataDirectory);
  try {
    return describeAtRest(store, deviceId, nowMs);
  } finally {
    await store.close();
  }
}

function describeAtRest({ registry, state }: Store, deviceId: DeviceId, nowMs: number): DeviceStatus | null {
  const device = new RegistryStore(registry).findDevice(deviceId);
  if (device === null) return null;
  const { signal, sleep } = state.connections;
  const events = new StoredEvents(state);
  return describeDevice({
    device,
    events,
    nowMs,
    signal: observedAtRest(signal, deviceId),
    sleep: observedAtRest(sleep, deviceId),
  });
}

function observedAtRest(tables: ConnectionTables, deviceId: DeviceId): ObservedConnection {
  return { record: findConnectionRecord(tables, deviceId), isHeld: false, heartbeatAt: 0 };
}
