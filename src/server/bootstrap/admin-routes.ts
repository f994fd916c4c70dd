/** Admin routes of the registry, devices, wakeups, tokens and keys, the same for every topology. */
import { auditRoutes } from '../../gateways/admin/audit-routes.ts';
import { deviceListRoute } from '../../gateways/admin/device-list-route.ts';
import { directoryRoutes } from '../../gateways/admin/directory-routes.ts';
import { deviceRoutes } from '../../gateways/admin/device-routes.ts';
import { refusedRoute } from '../../gateways/admin/refused-route.ts';
import { registryListRoutes } from '../../gateways/admin/registry-lists.ts';
import { registryRoutes, type RegistryChangeDeps } from '../../gateways/admin/registry-routes.ts';
import { messageRoute, wakeRoute } from '../../gateways/admin/wake-route.ts';
import { opsTokenRoutes, tokenKeyRoutes } from '../../gateways/admin/secret-routes.ts';
import { wakeupRoutes } from '../../gateways/admin/wakeup-routes.ts';
import type { AdminRoute, DirectoryRoute } from '../../gateways/ops/admin-route.ts';
import type { Operators } from '../../gateways/ops/operators.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import type { ServerContext } from './server-context.ts';

export interface AdminRoutesDeps extends Pick<
  RegistryChangeDeps,
  'writer' | 'changed' | 'changedEntry' | 'forgetDerivedKeys'
> {
  readonly dataDirectory: string;
  readonly tables: RegistryTables;
  readonly operators: Operators;
}

export function adminRoutes(server: ServerContext, deps: AdminRoutesDeps): (AdminRoute | DirectoryRoute)[] {
  const { settings, records, tokenKeys, clock, registry } = server;
  const { sleep: sleepRecords, signal: signalRecords, events } = records;
  const rules = { allowShortSecrets: settings.registry.allow_short_secrets };
  return [
    ...registryRoutes({ ...server, ...deps, rules }),
    ...registryListRoutes(registry),
    ...directoryRoutes(
      deps.dataDirectory,
      deps.tables,
      clock,
      () => server.own.storeHealth?.isDamaged === true,
    ),
    ...auditRoutes(deps.dataDirectory, clock),
    ...deviceRoutes({ ...server, sleepRecords, signalRecords, events }),
    deviceListRoute({ ...server, sleepRecords, signalRecords, search: server.deviceSearch }),
    refusedRoute(server.refusedLogins),
    wakeRoute({ ...server, wakeups: server }),
    messageRoute({ ...server, memory: server.messages }),
    ...wakeupRoutes({ ...server, wakeupRecords: records.wakeups, events }),
    ...tokenKeyRoutes(tokenKeys),
    ...opsTokenRoutes(deps.operators),
  ];
}
