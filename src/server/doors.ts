/** The sleep port and the operators' front end, each with what it needs of the house. The REST door is in api.ts. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { DeviceDirectory } from '../actor/device-directory.ts';
import { sleepSessions } from '../operations/admit-sleep-session.ts';
import type { Metrics } from '../ops/metrics.ts';
import { OpsListener } from '../ops/ops-listener.ts';
import { ensureOpsToken } from '../ops/ops-token.ts';
import type { Readiness } from '../ops/readiness.ts';
import type { Log } from '../ports/log.ts';
import { SleepListener } from '../sleep-gateway/listener.ts';
import type { RegistryStore } from '../store/registry-store.ts';
import type { RegistryWriter } from '../store/registry-write.ts';
import { adminRoutes } from './admin-routes.ts';
import type { RegistryRefresh } from './registry-refresh.ts';
import { sleepGatewaySettings } from './room-settings.ts';
import type { Settings } from './settings-schema.ts';

interface DoorHouse {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: RegistryStore;
  readonly directory: DeviceDirectory;
  readonly metrics: Metrics;
}

interface SleepHouse extends DoorHouse {
  isOverloaded(): boolean;
}

/** Throws when TLS is asked for and its files are not in order. */
export function composeSleep(house: SleepHouse): SleepListener {
  const { settings, clock, log, metrics: telemetry } = house;
  return new SleepListener(sleepGatewaySettings(settings), {
    clock,
    log,
    telemetry,
    sessions: sleepSessions(house),
  });
}

interface OpsHouse extends DoorHouse {
  readonly dataDirectory: string;
  readonly readiness: Readiness;
  readonly writer: RegistryWriter;
  readonly refresh: RegistryRefresh;
  forgetDerivedKeys(): void;
}

/** Makes the bearer token where there is none; throws when the data directory cannot be written. */
export function composeOps(house: OpsHouse): OpsListener {
  const { settings, metrics, readiness, log, refresh, dataDirectory } = house;
  const { listen, hosts } = settings.ops;
  return new OpsListener(
    { metrics, readiness, log, routes: [...adminRoutes(house), refresh.uploadRoute()] },
    { ...listen, hosts, token: ensureOpsToken(dataDirectory), spoolDirectory: join(dataDirectory, 'spool') },
  );
}
