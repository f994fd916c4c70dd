/** The port of the API, also before its server is there. */
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

/** The port of a server that is not there yet: once it listens, it holds the requests that come. */
export interface HoldingApi {
  readonly port: ApiPort | ApiFronts;
  /** Connections of all listeners; the port's are among them. */
  readonly connections: ListenerConnections;
}

/** It does not listen yet. Rejects when its certificate is not in order, or a front does not start. */
export async function loadApi(settings: Settings, clock: Clock, log: Log): Promise<HoldingApi> {
  const connections = new ListenerConnections(settings);
  const port = apiPort(settings, connections, clock, log);
  if (port instanceof ApiFronts) await port.load();
  return { port, connections };
}

/** Throws when TLS is asked for and its files are not in order. */
export function apiPort(
  settings: Settings,
  connections: ListenerConnections,
  clock: Clock,
  log: Log,
): ApiPort | ApiFronts {
  const { listen, connections_per_address_max: perAddressMax } = settings.api;
  const tls = tlsFiles(settings.api);
  // The core of a site with edges is succeeded by another one.
  const sharesPort = settings.sleep.edges > 0;
  const count = frontCount(settings);
  if (count < settings.api.fronts)
    log.info(
      { fronts: count, asked: settings.api.fronts },
      'this system does not spread the connections of a port: one front has them all',
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
