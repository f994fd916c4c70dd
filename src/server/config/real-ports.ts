/**
 * Ports of a site with edges, chosen before its processes start. With shared ports the kernel would silently accept another server on the
 * same port, so a port in use is detected here. Port 0 becomes a free port, the same for all processes and for the next
 * core. Source: scale-out.md, Edges.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { hasOwnListener, listenerNames, type ListenerName, type Settings } from './settings-schema.ts';
import { withListeners, type RealListeners } from './derived-settings.ts';
import { cannotListen, type ListenAddress } from '../../lib/connections/listen-address.ts';

/**
 * The chosen port is unbound for a second or two, until a process listens. Ports from the kernel's ephemeral range (32768 up on Linux)
 * could be taken meanwhile.
 */
const freePortMin = 20_000;
const freePortMax = 32_767;
const freePortTriesMax = 20;

/** Replaces each port 0 in the settings by a free port. Rejects like `reservePorts`. */
export async function withRealPorts(settings: Settings): Promise<Settings> {
  const wantsFreePorts = listenerNames.some((name) => settings[name].listen.port === 0);
  return wantsFreePorts ? withListeners(settings, await reservePorts(settings)) : settings;
}

/** Rejects with a sentence about the first address that cannot be bound. */
export async function reservePorts(settings: Settings): Promise<RealListeners> {
  const held: Server[] = [];
  try {
    const settled: [ListenerName, ListenAddress][] = [];
    for (const name of listenerNames) settled.push([name, await reservePort(settings, name, held)]);
    return Object.fromEntries(settled) as unknown as RealListeners;
  } finally {
    // Close them together, so that no port is chosen twice.
    await Promise.all(held.map((server) => once(server.close(), 'close')));
  }
}

async function reservePort(settings: Settings, name: ListenerName, held: Server[]): Promise<ListenAddress> {
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

/** Listens on an unused port. Rejects when `host` is not an address of this machine. */
async function listeningSomewhere(host: string): Promise<Server> {
  for (let tries = 1; tries < freePortTriesMax; tries++) {
    const server = await listening({ host, port: randomInt(freePortMin, freePortMax + 1) }).catch(() => null);
    if (server !== null) return server;
  }
  return listening({ host, port: 0 });
}

async function listening({ host, port }: ListenAddress): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port });
  await once(server, 'listening');
  return server;
}
