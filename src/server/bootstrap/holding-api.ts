/** The port of the API, also before its server is there. */
import type { Clock } from '../../lib/clock.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';
import { ApiPort } from '../../gateways/api/api-port.ts';
import type { Settings } from '../config/settings-schema.ts';
import { ListenerConnections } from './listener-connections.ts';

/** The port of a server that is not there yet: it holds the requests that come. */
export interface HoldingApi {
  readonly port: ApiPort;
  /** Connections of all listeners; the port's are among them. */
  readonly connections: ListenerConnections;
}

/** Rejects when the address cannot be had, is another server's, or its certificate is not in order. */
export async function holdRequests(settings: Settings, clock: Clock): Promise<HoldingApi> {
  const connections = new ListenerConnections(settings);
  const port = apiPort(settings, connections, clock);
  await port.listen();
  return { port, connections };
}

/** Throws when TLS is asked for and its files are not in order. */
export function apiPort(
  { api, sleep }: Settings,
  { api: connections }: ListenerConnections,
  clock: Clock,
): ApiPort {
  const { listen } = api;
  // The core of a site with edges is succeeded by another one.
  return new ApiPort({ listen, tls: tlsFiles(api), sharesPort: sleep.edges > 0 }, connections, clock);
}
