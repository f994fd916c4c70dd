/**
 * The ports of several processes, before any of them is started: they share them, and the system would let another
 * server share them too, without a word; so whoever has one already is found here. Port 0 becomes a free one, the same
 * for every process and for those that follow them. Source: cluster.md, Several processes on one machine.
 */
import { randomInt } from 'node:crypto';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { ListenerName } from './process-messages.ts';
import type { Settings } from '../config/settings-schema.ts';
import { formatListenAddress, type ListenAddress } from '../config/settings-values.ts';

type Addresses = Readonly<Record<ListenerName, ListenAddress>>;

/**
 * Until a process listens, a second or two later, nobody holds the port: those from which the kernel gives ports to
 * connections (32768 up on Linux) would be gone by then now and then.
 */
const freePortMin = 20_000;
const freePortMax = 32_767;
const freePortTriesMax = 20;

const names: readonly ListenerName[] = ['api', 'sleep', 'signal', 'media', 'ops'];

/** Rejects with a sentence that names the first address that cannot be had. */
export async function settlePorts(settings: Settings): Promise<Addresses> {
  const held: Server[] = [];
  try {
    const settled: [ListenerName, ListenAddress][] = [];
    for (const name of names) settled.push([name, await settle(settings, name, held)]);
    return Object.fromEntries(settled) as unknown as Addresses;
  } finally {
    // All at once: no two of them may be given the same.
    await Promise.all(held.map(closed));
  }
}

async function settle(settings: Settings, name: ListenerName, held: Server[]): Promise<ListenAddress> {
  const { listen } = settings[name];
  if (name === 'media' && settings.media.process !== 'child') return listen;
  try {
    const server = listen.port === 0 ? await listeningSomewhere(listen.host) : await listening(listen);
    held.push(server);
    return { host: listen.host, port: (server.address() as AddressInfo).port };
  } catch (error) {
    const address = formatListenAddress(listen);
    throw new Error(
      `cannot listen on ${address} (${name}.listen): in use, or not an address of this machine`,
      {
        cause: error,
      },
    );
  }
}

/** Where nobody does. Rejects when `host` is not an address of this machine. */
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
