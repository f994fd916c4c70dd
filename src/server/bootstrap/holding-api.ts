/** The port of the API, which may listen before its server is ready. */
import type { Clock } from '../../lib/clock.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';
import type { Log } from '../../lib/log.ts';
import { ApiPort } from '../../gateways/api/api-port.ts';
import { apiRoutes } from '../../gateways/api/routes.ts';
import { ApiFronts } from '../../gateways/fronts/api-fronts.ts';
import { startFrontThread } from '../../gateways/fronts/front-thread.ts';
import { frontCount, parseRules, verificationSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { ListenerConnections } from './listener-connections.ts';

/** The API port of a server that is not ready yet: it listens, and queues requests. */
export interface HoldingApi {
  readonly port: ApiPort | ApiFronts;
  /** Connections of all listeners, including this port. */
  readonly connections: ListenerConnections;
}

/** Does not listen yet. Rejects when the certificate is invalid, or a front does not start. */
export async function loadApi(settings: Settings, clock: Clock, log: Log): Promise<HoldingApi> {
  const connections = new ListenerConnections(settings);
  const port = apiPort(settings, connections, clock, log);
  if (port instanceof ApiFronts) await port.load();
  return { port, connections };
}

/** Throws when the TLS files are invalid. */
export function apiPort(
  settings: Settings,
  connections: ListenerConnections,
  clock: Clock,
  log: Log,
): ApiPort | ApiFronts {
  const { listen, connections_per_address_max: perAddressMax } = settings.api;
  const tls = tlsFiles(settings.api);
  // With edges, the next core opens the port while this one still has it.
  const sharesPort = settings.sleep.edges > 0;
  const count = frontCount(settings);
  if (count < settings.api.fronts)
    log.info(
      { fronts: count, asked: settings.api.fronts },
      'API fronts: reduced to one: this system does not balance connections of a port',
    );
  if (count === 0) return new ApiPort({ listen, tls, sharesPort }, connections.api, clock);
  const fronts = new ApiFronts({
    clock,
    log,
    routes: apiRoutes,
    count,
    sharesPort,
    startThread: startFrontThread,
    start: {
      listen,
      tls,
      perAddressMax,
      verification: verificationSettings(settings),
      rules: parseRules(settings),
    },
    connectionsMax: () => connections.apiMax(),
    onStuck: () => process.kill(process.pid, 'SIGKILL'),
  });
  connections.joinFronts(fronts);
  return fronts;
}
