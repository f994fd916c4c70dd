/**
 * The ports of a site with edges, chosen before any of its processes is started. The system would let another server share a
 * port too, without a word, so a port in use is found here. Port 0 becomes a free one, the same for every process and for the
 * next core. Source: scale-out.md, Edges.
 */
import { randomInt } from 'node:crypto';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { hasOwnListener, listenerNames, type ListenerName, type Settings } from './settings-schema.ts';
import { withListeners, type RealListeners } from './derived-settings.ts';
import { cannotListen, type ListenAddress } from '../../lib/connections/listen-address.ts';

/**
 * Until a process listens, a second or two later, nobody holds the port: those from which the kernel gives ports to
 * connections (32768 up on Linux) would be gone by then now and then.
 */
const freePortMin = 20_000;
const freePortMax = 32_767;
const freePortTriesMax = 20;

/** The settings with a free port for each port 0. Rejects like `settlePorts`. */
export async function withRealPorts(settings: Settings): Promise<Settings> {
  const wantsFreePorts = listenerNames.some((name) => settings[name].listen.port === 0);
  return wantsFreePorts ? withListeners(settings, await settlePorts(settings)) : settings;
}

/** Rejects with a sentence that names the first address that cannot be had. */
export async function settlePorts(settings: Settings): Promise<RealListeners> {
  const held: Server[] = [];
  try {
    const settled: [ListenerName, ListenAddress][] = [];
    for (const name of listenerNames) settled.push([name, await settle(settings, name, held)]);
    return Object.fromEntries(settled) as unknown as RealListeners;
  } finally {
    // All at once: no two of them may be given the same.
    await Promise.all(held.map(closed));
  }
}

async function settle(settings: Settings, name: ListenerName, held: Server[]): Promise<ListenAddress> {
  const { listen } = settings[name];
  if (!hasOwnListener(settings, name)) return listen;
  try {
    const server = listen.port === 0 ? await listeningSomewhere(listen.host) : await listening(listen);
    held.push(server);
    return { host: listen.host, port: (server.address() as AddressInfo).port };
  } catch (error) {
    throw cannotListen(listen, error, `${name}.listen`);
  }
}

/** On a port that nobody has. Rejects when `host` is not an address of this machine. */
async function listeningSomewhere(host: string): Promise<Server> {
  for (let tries = 1; tries < freePortTriesMax; tries++) {
    const server = await listening({ host, port: randomInt(freePortMin, freePortMax + 1) }).catch(() => null);
    if (server !== null) return server;
  }
  return listening({ host, port: 0 });
}

function listening({ host, port }: ListenAddress): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => resolve(server));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
