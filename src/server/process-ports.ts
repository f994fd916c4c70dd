/**
 * The ports of several processes, before any of them is started: they share them, and the system would let another
 * server share them too, without a word; so whoever has one already is found here. Port 0 becomes a free one, the same
 * for every process and for those that follow them. Source: cluster.md, Several processes on one machine.
 */
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { ListenerName } from './process-messages.ts';
import type { Settings } from './settings-schema.ts';
import { formatListenAddress, type ListenAddress } from './settings-values.ts';

type Addresses = Readonly<Record<ListenerName, ListenAddress>>;

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
    const server = await listening(listen);
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
