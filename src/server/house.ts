/** What all doors stand before: the registry, the records, the devices that are here, and who is told of them. */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { DeviceDirectory } from '../actor/device-directory.ts';
import { WakeupWatch } from '../actor/wakeup-watch.ts';
import { Metrics } from '../ops/metrics.ts';
import { Readiness } from '../ops/readiness.ts';
import type { Log } from '../ports/log.ts';
import type { Store } from '../store/open-store.ts';
import { RegistryStore } from '../store/registry-store.ts';
import { RegistryWriter } from '../store/registry-write.ts';
import { SigningKeyCache } from '../tgv1/signing-key.ts';
import { CallService, type CallServiceParts } from './call-service.ts';
import type { LiveTokenKeys } from './live-token-keys.ts';
import { openRecords, type Records } from './records.ts';
import { RegistryRefresh } from './registry-refresh.ts';
import type { Settings } from './settings-schema.ts';
import { Webhooks } from './webhook-service.ts';

export interface House {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  /** The name of this node, in events. */
  readonly node: string;
  readonly readiness: Readiness;
  readonly signingKeys: SigningKeyCache;
  readonly registry: RegistryStore;
  readonly writer: RegistryWriter;
  readonly refresh: RegistryRefresh;
  readonly records: Records;
  readonly directory: DeviceDirectory;
  readonly watch: WakeupWatch;
  readonly metrics: Metrics;
  /** The same, by the name of its port. */
  readonly telemetry: Metrics;
  readonly webhooks: Webhooks;
  readonly calls: CallService;
  readonly tokenKeys: LiveTokenKeys;
  /** After every change of the registry that may forbid what is under way. */
  changed(): void;
}

interface HouseFrame {
  readonly clock: Clock;
  readonly log: Log;
  readonly tokenKeys: LiveTokenKeys;
  readonly startMedia: CallServiceParts['startMedia'];
  readonly opsAddress: CallServiceParts['opsAddress'];
  /** Asked at a scrape. */
  readonly doors: () => Readonly<Record<'sleep' | 'signal', DoorCounts>>;
}

interface DoorCounts {
  readonly sessionCount: number;
}

/** Throws when the store cannot be read. */
export function composeHouse(
  settings: Settings,
  store: Store,
  { clock, log, tokenKeys, startMedia, opsAddress, doors }: HouseFrame,
): House {
  const readiness = new Readiness();
  const node = settings.cluster.node_name ?? hostname();
  const signingKeys = new SigningKeyCache(settings.auth.derived_keys_max);
  const registry = new RegistryStore(store.registry);
  const metrics = new Metrics({
    sleepSessions: () => doors().sleep.sessionCount,
    signalSessions: () => doors().signal.sessionCount,
    calls: () => calls.directory.countByState(),
    mediaLegs: () => calls.desk.counts(),
    mediaLoads: () => calls.front.counts()?.loads ?? [],
    mediaIsUp: () => calls.front.address !== null,
  });
  const records = openRecords(store.state, settings, {
    clock,
    log,
    readiness,
    productOf: (deviceId) => registry.peekDevice(deviceId)?.productId ?? null,
    onEvent: (type) => metrics.event(type),
  });
  const { sleep: sleepRecords, signal: signalRecords } = records;
  const directory = new DeviceDirectory({ sleepRecords, signalRecords, node });
  const watch = new WakeupWatch({ clock, records: records.wakeups, telemetry: metrics });
  directory.follow(watch);
  const webhooks = new Webhooks({
    clock,
    log,
    telemetry: metrics,
    events: records.events,
    dataDirectory: store.directory,
    allowLocal: settings.webhooks.allow_local,
  });
  const calls: CallService = new CallService({
    settings,
    clock,
    log,
    telemetry: metrics,
    registry,
    records: records.calls,
    tokenKeys,
    startMedia,
    opsAddress,
  });
  const changed = (): void => calls.desk.registryChanged();
  const refresh = new RegistryRefresh({
    directory: store.directory,
    registry,
    signingKeys,
    log,
    changed() {
      webhooks.registryChanged();
      changed();
    },
  });
  const writer = new RegistryWriter(store.registry, registry);
  const known = { settings, clock, log, node, readiness, signingKeys, registry, writer, refresh };
  const observed = { records, directory, watch, metrics, telemetry: metrics };
  return { ...known, ...observed, webhooks, calls, tokenKeys, changed };
}
