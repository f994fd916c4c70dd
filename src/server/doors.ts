/** The doors for devices and operators, each with what it needs of the house. The REST door is in api.ts. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import type { WakeupWatch } from '../actor/wakeup-watch.ts';
import { signalSessions } from '../operations/admit-signal-session.ts';
import { sleepSessions } from '../operations/admit-sleep-session.ts';
import type { AdminRoute } from '../ops/admin-route.ts';
import type { Metrics } from '../ops/metrics.ts';
import { OpsListener } from '../ops/ops-listener.ts';
import { ensureOpsToken } from '../ops/ops-token.ts';
import type { Readiness } from '../ops/readiness.ts';
import type { Log } from '../ports/log.ts';
import { SignalListener } from '../signal-gateway/listener.ts';
import { SleepListener } from '../sleep-gateway/listener.ts';
import type { RegistryStore } from '../store/registry-store.ts';
import type { RegistryWriter } from '../store/registry-write.ts';
import { adminRoutes } from './admin-routes.ts';
import { bridgeRoutes } from './bridge-routes.ts';
import type { CallService } from './call-service.ts';
import type { Records } from './records.ts';
import type { RegistryRefresh } from './registry-refresh.ts';
import { signalGatewaySettings, sleepGatewaySettings } from './room-settings.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress } from './settings-values.ts';
import { statusRoutes } from './status-routes.ts';

interface DoorHouse {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: RegistryStore;
  readonly records: Records;
  readonly directory: DeviceDirectory;
  readonly watch: WakeupWatch;
  readonly metrics: Metrics;
  readonly calls: CallService;
}

export interface DeviceDoors {
  readonly sleep: SleepListener;
  readonly signal: SignalListener;
}

/** Throws when TLS is asked for and its files are not in order. */
export function composeDeviceDoors(house: DoorHouse): DeviceDoors {
  const { settings, clock, log, metrics: telemetry, records, watch } = house;
  const common = { clock, log, telemetry };
  const admission = {
    ...house,
    signalRecords: records.signal,
    wakeups: watch,
    isOverloaded: () => records.isOverloaded(),
  };
  const sleep: SleepListener = new SleepListener(sleepGatewaySettings(settings), {
    ...common,
    sessions: sleepSessions(admission),
    otherSockets: () => signal.socketCount,
  });
  const signal: SignalListener = new SignalListener(signalGatewaySettings(settings), {
    ...common,
    sessions: signalSessions(admission),
    sleepServers: () => advertisedSleepServers(settings, sleep),
    otherSockets: () => sleep.socketCount,
  });
  return { sleep, signal };
}

/** What controllers are told to have their modules log in to: what is set, or where the sleep port listens. */
function advertisedSleepServers({ sleep }: Settings, listener: SleepListener): readonly string[] {
  return sleep.advertise.length > 0 ? sleep.advertise : [formatListenAddress(listener.address)];
}

interface OpsHouse extends DoorHouse {
  readonly dataDirectory: string;
  readonly readiness: Readiness;
  readonly writer: RegistryWriter;
  readonly refresh: RegistryRefresh;
  /** Of other parts of the house. */
  readonly routes: readonly AdminRoute[];
  forgetDerivedKeys(): void;
  /** After every change of a bridge or a device. */
  changed(): void;
}

/** Makes the bearer token where there is none; throws when the data directory cannot be written. */
export function composeOps(house: OpsHouse): OpsListener {
  const { settings, metrics, readiness, log, refresh, records, dataDirectory } = house;
  const { sleep: sleepRecords, signal: signalRecords, events } = records;
  const { listen, hosts } = settings.ops;
  const routes = [
    ...adminRoutes(house),
    ...bridgeRoutes(house),
    ...statusRoutes({ ...house, sleepRecords, signalRecords, events }),
    ...house.routes,
    refresh.uploadRoute(),
  ];
  return new OpsListener(
    { metrics, readiness, log, routes, guestRoutes: house.calls.guestRoutes },
    { ...listen, hosts, token: ensureOpsToken(dataDirectory), spoolDirectory: join(dataDirectory, 'spool') },
  );
}
